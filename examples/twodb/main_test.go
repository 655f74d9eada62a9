package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

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
	rows := dbtest.Must(connect(t, kind, dsn).QueryContext(t.Context(), "SELECT id FROM events"))(t)
	defer rows.Close()
	for rows.Next() {
		var key pk.ID
		dbtest.NoError(t, rows.Scan(&key))
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
	dbtest.NoError(t, twodb(t.Context(), &out, postgres, mysql))
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
	db := dbtest.Must(open(t.Context(), kind, dsn, t.TempDir(), kind+".db"))(t)
	t.Cleanup(func() { db.Close() })
	return db
}
