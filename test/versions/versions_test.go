// Package versions has a test for each promise of README.md that no other test
// keeps. Its testdata is frozen: a change of the code that needs a change of these files
// breaks the promise. A program in another language, which knows only the bits, the epochs
// and the alphabets, computed layouts.txt and texts.txt.
package versions

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/filestore"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
	"github.com/snowkey-go/snowkey/schema/pk"
)

const root = "../.."

func read(t *testing.T, name string) string {
	t.Helper()
	return string(dbtest.Must(os.ReadFile(name))(t))
}

// Each promise of the page must name a test that exists.
func TestPage(t *testing.T) {
	t.Parallel()
	row := regexp.MustCompile("(?m)^\\|.*\\|[^|]*`(Test[A-Za-z0-9]+)` in \\[[^]]*\\]\\(([^)]+)\\)[^|]*\\|$")
	page := read(t, "README.md")
	found := row.FindAllStringSubmatch(page, -1)
	lines := 0
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| what") {
			lines++
		}
	}
	if len(found) < 10 || len(found) != lines {
		t.Errorf("%d of %d lines name a test", len(found), lines)
	}
	for _, f := range found {
		if !strings.Contains(read(t, f[2]), "\nfunc "+f[1]+"(") {
			t.Errorf("%s has no %s", f[2], f[1])
		}
	}
}

// A preset keeps its fields, unit and epoch, and so an id keeps its parts. The text of a
// layout is in the lease tables, so it stays the same too.
func TestLayouts(t *testing.T) {
	t.Parallel()
	var got []string
	for name, l := range idgen.Presets() {
		got = append(got, layoutLine(t, name, l))
	}
	slices.Sort(got)
	if text := strings.Join(got, "\n") + "\n"; text != read(t, "testdata/layouts.txt") {
		t.Errorf("the layouts are now:\n%s", text)
	}
	for line := range strings.Lines(read(t, "testdata/layouts.txt")) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		l, err := idgen.ParseLayout(parts[1])
		if err != nil || layoutLine(t, parts[0], l) != strings.TrimSuffix(line, "\n") {
			t.Errorf("%s is not read: %v", parts[0], err)
		}
	}
	other := dbtest.Must(idgen.DefaultLayout().WithEpoch(time.Unix(0, 0)))(t)
	if layoutLine(t, "default", other) == layoutLine(t, "default", idgen.DefaultLayout()) {
		t.Error("another epoch makes no difference, so this test proves nothing")
	}
}

// layoutLine returns the text of a layout, and two neighbouring ids with their parts.
func layoutLine(t *testing.T, name string, l idgen.Layout) string {
	t.Helper()
	at := time.Date(2020, 3, 4, 5, 6, 7, 0, time.UTC)
	if l.Epoch().After(at) {
		at = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	}
	parts := l.Decode(dbtest.Must(l.MinID(at))(t))
	parts.Worker, parts.Sequence = min(5, l.Decode(dbtest.Must(l.MaxID(at))(t)).Worker), 6
	line := []string{name, l.String()}
	for range 2 {
		id, err := l.Compose(parts)
		if err != nil || l.Decode(id).Sequence != parts.Sequence {
			t.Fatal(name, err)
		}
		line = append(line, strconv.FormatInt(id, 10))
		parts.Sequence++
	}
	return strings.Join(line, "\t")
}

// A user has keys whose text begins with user_.
type user struct{}

func (user) Prefix() string { return "user" }

// Text that a program stored or printed is still read, and written in the same way.
func TestTexts(t *testing.T) {
	t.Parallel()
	var got []string
	for _, n := range []int64{0, 1, 1<<53 + 1, 1<<53 + 2, 541437439508070401, 541437439508070402, 1<<63 - 2, 1<<63 - 1} {
		id := pk.ID(n)
		asJSON := dbtest.Must(json.Marshal(id))(t)
		sortable := dbtest.Must(pk.SortText(n).MarshalText())(t)
		prefixed := pk.Prefixed[user](n).String()
		if quoted, err := json.Marshal(pk.Prefixed[user](n)); err != nil || string(quoted) != strconv.Quote(prefixed) {
			t.Errorf("the JSON text of %s is %s, %v", prefixed, quoted, err)
		}
		got = append(got, strings.Join([]string{id.String(), string(asJSON), string(sortable), pk.FormatHex(id), pk.FormatBase58(id), pk.FormatBase62(id), prefixed}, "\t"))
	}
	frozen := read(t, "testdata/texts.txt")
	if text := strings.Join(got, "\n") + "\n"; text != frozen {
		t.Errorf("the texts are now:\n%s", text)
	}
	for line := range strings.Lines(frozen) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		want := dbtest.Must(strconv.ParseInt(f[0], 10, 64))(t)
		var fromJSON pk.ID
		var sortable pk.SortText
		errs := []error{json.Unmarshal([]byte(f[1]), &fromJSON), sortable.UnmarshalText([]byte(f[2]))}
		hex, err1 := pk.ParseHex(f[3])
		base58, err2 := pk.ParseBase58(f[4])
		base62, err3 := pk.ParseBase62(f[5])
		prefixed, err4 := pk.ParsePrefixed[user](f[6])
		var prefixedJSON pk.Prefixed[user]
		errs = append(errs, json.Unmarshal([]byte(strconv.Quote(f[6])), &prefixedJSON))
		for i, id := range []pk.ID{fromJSON, pk.ID(sortable), hex, base58, base62, prefixed.ID(), prefixedJSON.ID()} {
			if int64(id) != want {
				t.Errorf("text %d of %d is read as %d", i, want, id)
			}
		}
		dbtest.NoError(t, errors.Join(append(errs, err1, err2, err3, err4)...))
	}
}

var comment = regexp.MustCompile(`(?m) *--.*$`)

// plain removes comments and differences of space.
func plain(statements string) string {
	return strings.Join(strings.Fields(comment.ReplaceAllString(statements, "")), " ")
}

func storeOf(dialect string, conn *sql.DB) *sqlstore.Store {
	if dialect == "postgres" {
		return sqlstore.Postgres(conn)
	}
	return sqlstore.MySQL(conn)
}

// The tables of a protocol version stay the same, except for their comments.
func TestTables(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql"} {
		frozen := read(t, fmt.Sprintf("testdata/protocol%d/%s.sql", protocol.Version, dialect))
		now := strings.Join(storeOf(dialect, nil).DDL(), ";\n")
		quotes := strings.NewReplacer(`"`, "", "`", "")
		if got, want := plain(quotes.Replace(now)), plain(quotes.Replace(frozen)); got != want {
			t.Errorf("%s has the tables\n%s\nwant\n%s", dialect, got, want)
		}
	}
}

// at returns the first counter of DefaultLayout at a time.
func at(moment time.Time) int64 {
	return moment.Sub(idgen.DefaultLayout().Epoch()).Milliseconds() << 12
}

// counterOf returns the counter of an id of DefaultLayout.
func counterOf(id int64) int64 {
	parts := idgen.DefaultLayout().Decode(id)
	return at(parts.Time) + parts.Sequence
}

// fill completes a text with bounds. One of its leases expired an hour ago.
func fill(text string, bound int64) string {
	return strings.NewReplacer("{bound}", strconv.FormatInt(bound, 10), "{fence}", strconv.FormatInt(bound-1, 10),
		"{held}", strconv.FormatInt(time.Now().Add(-time.Hour).UnixMicro(), 10)).Replace(text)
}

var config = snowkey.Config{MaxClockSkew: 50 * time.Millisecond, SkipMigrate: true, MaxWorker: 1, Logger: slog.New(slog.DiscardHandler)}

// above opens a pool, and fails unless its ids are above a bound.
func above(t *testing.T, store lease.Store, cfg snowkey.Config, bound int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	pool := dbtest.Must(snowkey.Open(ctx, store, cfg))(t)
	id := dbtest.Must(pool.Next(ctx))(t)
	if counter := counterOf(id); counter < bound {
		t.Errorf("the id %d has the counter %d, and %d may have been issued", id, counter, bound-1)
	}
	dbtest.NoError(t, pool.Close(ctx))
}

// A file of filestore that an earlier release wrote is used as it is.
func TestFilesOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(fmt.Sprintf("testdata/protocol%d/*.leases", protocol.Version))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	bound := at(time.Now().Add(time.Second))
	head, body, _ := strings.Cut(fill(read(t, files[0]), bound), "\n")
	head = strings.ReplaceAll(head, "{checksum}", fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(body))))
	dir := t.TempDir()
	dbtest.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(files[0])), []byte(head+"\n"+body), 0o600))
	above(t, filestore.Dir(dir), config, bound)
	all := dbtest.Must(os.ReadDir(dir))(t)
	for _, f := range all {
		if strings.HasSuffix(f.Name(), ".leases") && f.Name() != filepath.Base(files[0]) {
			t.Errorf("the process used the file %s", f.Name())
		}
	}
}
