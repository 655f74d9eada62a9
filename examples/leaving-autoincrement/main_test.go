package main

import (
	"io"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestLeave checks that on every database, the shop stays open and nothing is lost.
func TestLeave(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		dsn := db.DSN
		if db.Dialect == "sqlite" {
			dsn = "" // the way a user starts it
		}
		var out strings.Builder
		if err := leave(t.Context(), &out, dsn, 600); err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
		for _, want := range []string{
			"the shop has 600 rows in 6 tables, on " + db.Dialect,
			"every row that was written is there, and no other; no key repeats; all 7 foreign keys resolve",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the program does not print %q:\n%s", want, &out)
			}
		}
		t.Log(out.String())
	})
}

// TestNotEmpty checks that the program leaves a database alone unless it's empty.
func TestNotEmpty(t *testing.T) {
	dsn := dbtest.Postgres(t).DSN
	db, err := open(t.Context(), dsn, "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE customers (id serial)"); err != nil {
		t.Fatal(err)
	}
	if err := leave(t.Context(), io.Discard, dsn, 30); err == nil || !strings.Contains(err.Error(), "empty database") {
		t.Errorf("got %v", err)
	}
}
