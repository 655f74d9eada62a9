//go:build nightly

package timesql

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/timesql"
)

//go:embed clickhouse.js
var clickhouseJS string

// chdb is the npm package with ClickHouse's engine as a library, about 550 MB.
const chdb = "chdb@3.4.0"

// clickhouse starts the engine, and returns a function that runs queries.
func clickhouse(t *testing.T) func(query string) (string, error) {
	t.Helper()
	dir := filepath.Join(dbtest.Must(os.UserCacheDir())(t), "snowkey", chdb)
	dbtest.NoError(t, os.MkdirAll(dir, 0o755))
	install := exec.Command("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", dir, chdb)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("install %s: %v: %s", chdb, err, out)
	}
	cmd := exec.Command("node", "-e", clickhouseJS)
	cmd.Dir = dir
	in := dbtest.Must(cmd.StdinPipe())(t)
	out := dbtest.Must(cmd.StdoutPipe())(t)
	cmd.Stderr = os.Stderr
	dbtest.NoError(t, cmd.Start())
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() }) // only its answers matter
	answers := bufio.NewScanner(out)
	return func(query string) (string, error) {
		line, err := json.Marshal(query)
		if err != nil {
			return "", err
		}
		if _, err := in.Write(append(line, '\n')); err != nil {
			return "", err
		}
		if !answers.Scan() {
			return "", fmt.Errorf("the engine ended: %v", answers.Err())
		}
		var answer struct{ Text, Error string }
		if err := json.Unmarshal(answers.Bytes(), &answer); err != nil {
			return "", err
		}
		if answer.Error != "" {
			return "", errors.New(answer.Error)
		}
		return strings.TrimRight(answer.Text, "\n"), nil
	}
}

// TestNightlyClickHouse is TestFunctions on ClickHouse's engine, and runs the statements of
// docs/layouts.md.
func TestNightlyClickHouse(t *testing.T) {
	t.Parallel()
	query := clickhouse(t)
	do := func(statements ...string) {
		t.Helper()
		for _, s := range statements {
			if _, err := query(s); err != nil {
				t.Fatalf("%s\n%v", s, err)
			}
		}
	}
	list := func(ids []int64) string {
		var all []string
		for _, id := range ids {
			all = append(all, fmt.Sprintf("toInt64('%d')", id))
		}
		return "arrayJoin([" + strings.Join(all, ", ") + "])"
	}
	srv := server{precision: time.Microsecond, last: time.Date(2299, 12, 31, 0, 0, 0, 0, time.UTC)}
	srv.read = func(field string, ids []int64) ([]string, error) {
		text, err := query("SELECT toString(snowkey_" + field + "(" + list(ids) + "))")
		return strings.Split(strings.ReplaceAll(text, `\N`, ""), "\n"), err
	}
	srv.write = func(at time.Time) (smallest, largest *int64, err error) {
		text, err := query(fmt.Sprintf("SELECT snowkey_min_id(t), snowkey_max_id(t) FROM (SELECT toDateTime64('%s', 6, 'UTC') AS t)", at.Format(textTime)))
		if err != nil {
			return nil, nil, err
		}
		smallest, largest = new(int64), new(int64)
		_, err = fmt.Sscan(text, smallest, largest)
		return smallest, largest, err
	}
	for _, s := range samples(t) {
		create, drop, err := timesql.Statements(s.layout, "clickhouse")
		dbtest.NoError(t, err)
		do(create...)
		for _, problem := range s.check(srv) {
			t.Error(problem)
		}
		do(drop...)
	}

	create, _, err := timesql.Statements(idgen.DefaultLayout(), "clickhouse")
	dbtest.NoError(t, err)
	do(create...)
	marks["clickhouse"] = []string{"ClickHouse"}
	page := statements(t, "layouts.md", dbtest.DB{Dialect: "clickhouse"})
	do("CREATE DATABASE shop", "USE shop", page[0])
	a, b := pair(t, time.Date(2026, 10, 31, 23, 59, 59, 999e6, time.UTC))
	c, d := pair(t, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
	do(fmt.Sprintf("INSERT INTO orders VALUES (%d), (%d), (%d), (%d)", a, b, c, d))
	if got, err := query(page[1]); err != nil || got != "2" {
		t.Errorf("%s: %s, %v", page[1], got, err)
	}
	// For count(), the plan would not show the index.
	rows := strings.Replace(page[1], "count()", "id", 1)
	for condition, want := range map[string]string{"": "Condition: (id in [", " AND id <= snowkey_max_id(toDate('2026-12-01'))": "Condition: and((id in (-Inf, "} {
		if plan, err := query("EXPLAIN indexes = 1 " + rows + condition); err != nil || !strings.Contains(plan, want) {
			t.Errorf("%s%s does not use the primary key: %v\n%s", rows, condition, err, plan)
		}
	}
	if got, err := query("SELECT snowkey_time(NULL), snowkey_min_id(CAST(NULL AS Nullable(DateTime64(3))))"); err != nil || got != "\\N\t\\N" {
		t.Errorf("NULL gives %s, %v", got, err)
	}
	if got, err := query("SELECT snowkey_time(toUInt64('18446744073709551615'))"); err != nil || got != "2094-09-07 15:47:35.551" {
		t.Errorf("an unsigned id gives %s, %v", got, err)
	}
	if _, err := query("SELECT snowkey_min_id(toDateTime64('2024-12-31 23:59:59.999', 3, 'UTC'))"); err == nil || !strings.Contains(err.Error(), "outside the layout") {
		t.Errorf("a time before the epoch: %v", err)
	}
}
