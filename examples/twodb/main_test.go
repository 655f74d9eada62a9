package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"entgo.io/ent/dialect"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// TestRunTwice checks that each run adds its rows to the same two databases, and that
// no key is repeated.
func TestRunTwice(t *testing.T) {
	postgres, mysql := dbtest.Postgres(t).DSN, dbtest.MySQL(t).DSN
	for run := 1; run <= 2; run++ {
		out := runProgram(t, postgres, mysql)
		wants(t, out, "ent on postgres", "GORM on mysql")
		keys := append(keysIn(t, dialect.Postgres, postgres), keysIn(t, dialect.MySQL, mysql)...)
		slices.Sort(keys)
		if n := len(slices.Compact(slices.Clone(keys))); n != 12*run || len(keys) != n {
			t.Errorf("run %d: %d rows have %d keys, want %d", run, len(keys), n, 12*run)
		}
	}
}

func keysIn(t *testing.T, kind, dsn string) (keys []pk.ID) {
	t.Helper()
	rows, err := connect(t, kind, dsn).QueryContext(t.Context(), "SELECT id FROM events")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var key pk.ID
		if err := rows.Scan(&key); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	if err := rows.Err(); err != nil || len(keys) == 0 {
		t.Fatalf("%d rows in %s: %v", len(keys), kind, err)
	}
	return keys
}

// TestWithoutServers checks that the program falls back to two files on a machine that
// has no servers.
func TestWithoutServers(t *testing.T) {
	wants(t, runProgram(t, "", ""), "ent on sqlite3", "GORM on sqlite3")
}

func runProgram(t *testing.T, postgres, mysql string) string {
	t.Helper()
	var out bytes.Buffer
	if err := twodb(t.Context(), &out, postgres, mysql); err != nil {
		t.Fatal(err)
	}
	idgen.SetDefault(nil)
	return out.String()
}

func wants(t *testing.T, out string, more ...string) {
	t.Helper()
	for _, want := range append(more, "lunch: guests come", "lunch: they order", "lunch: they pay", "lunch: they go", " events in both") {
		if !strings.Contains(out, want) {
			t.Errorf("the program does not print %q:\n%s", want, out)
		}
	}
}

func connect(t *testing.T, kind, dsn string) database {
	t.Helper()
	db, err := open(t.Context(), kind, dsn, t.TempDir(), kind+".db")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// journals opens both journals, without any rows in them.
func journals(t *testing.T) (entJournal, gormJournal) {
	t.Helper()
	byEnt, err := openEnt(t.Context(), connect(t, dialect.Postgres, dbtest.Postgres(t).DSN))
	if err != nil {
		t.Fatal(err)
	}
	byGORM, err := openGORM(t.Context(), connect(t, dialect.MySQL, dbtest.MySQL(t).DSN))
	if err != nil {
		t.Fatal(err)
	}
	return byEnt, byGORM
}

// TestDuring checks that in both databases, a range of time includes its first and last
// key, but not the keys just before and after.
func TestDuring(t *testing.T) {
	ctx, layout := t.Context(), idgen.DefaultLayout()
	byEnt, byGORM := journals(t)
	from := time.Date(2030, 1, 2, 3, 4, 5, 6e6, time.UTC)
	to := from.Add(time.Hour)
	first, err := layout.MinID(from)
	if err != nil {
		t.Fatal(err)
	}
	last, err := layout.MaxID(to)
	if err != nil {
		t.Fatal(err)
	}

	for name, key := range map[string]int64{"before": first - 1, "begin": first, "end": last - 1, "after": last + 1} {
		if err := byEnt.client.Event.Create().SetID(pk.ID(key)).SetName(name).Exec(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for name, key := range map[string]int64{"before": first - 2, "next": first + 1, "last": last, "after": last + 2} {
		if err := byGORM.db.Create(&Event{pk.ID(key), name}).Error; err != nil {
			t.Fatal(err)
		}
	}
	found, err := during(ctx, layout, []journal{byEnt, byGORM}, from, to)
	if err != nil {
		t.Fatal(err)
	}
	want := []event{{pk.ID(first), "begin", byEnt}, {pk.ID(first + 1), "next", byGORM}, {pk.ID(last - 1), "end", byEnt}, {pk.ID(last), "last", byGORM}}
	if !slices.Equal(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
	if err := distinct(found); err != nil {
		t.Error(err)
	}

	// The program must report a key that both databases contain.
	if err := byGORM.db.Create(&Event{pk.ID(first), "again"}).Error; err != nil {
		t.Fatal(err)
	}
	if found, err = during(ctx, layout, []journal{byEnt, byGORM}, from, to); err != nil {
		t.Fatal(err)
	}
	if err := distinct(found); err == nil {
		t.Error("a repeated key was not found")
	}
}
