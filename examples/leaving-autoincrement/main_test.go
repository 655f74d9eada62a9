package main

import (
	"fmt"
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

// TestCheck checks that the check at the end finds each of these faults.
func TestCheck(t *testing.T) {
	const generated int64 = 1<<60 + 1
	for _, tc := range []struct{ name, fault, want string }{
		{"nothing", "", ""},
		{"a row that is missing", "DELETE FROM payments WHERE id = 2", "the row 2 of payments was written and is missing"},
		{"the last row is missing", "DELETE FROM payments WHERE id = 3", "the row 3 of payments was written and is missing"},
		{"a row that was not written", "INSERT INTO payments (id, order_id, amount) VALUES (7, 1, 1)", "the row 7 of payments is there and was not written"},
		{"an orphan", "UPDATE payments SET order_id = 99 WHERE id = 2", "1 rows of payments have a order_id that is not in orders"},
		{"a key that repeats", fmt.Sprintf("UPDATE payments SET id = %d WHERE id = 3", generated), fmt.Sprintf("the key %d is in ", generated)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			db, err := open(t.Context(), "", t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			db.SetMaxOpenConns(1)
			if err := create(t.Context(), db); err != nil {
				t.Fatal(err)
			}
			g, err := db.gorm()
			if err != nil {
				t.Fatal(err)
			}
			want, err := seed(g, 30)
			if err != nil {
				t.Fatal(err)
			}
			for _, statement := range []string{
				"PRAGMA foreign_keys = OFF",
				fmt.Sprintf("UPDATE order_lines SET id = %d WHERE id = 1", generated),
				tc.fault,
			} {
				if _, err := db.Exec(statement); err != nil {
					t.Fatal(err)
				}
			}
			want["order_lines"][0] = generated
			if strings.Contains(tc.want, "is in") {
				want["payments"][2] = generated
			}
			err = check(t.Context(), io.Discard, db, want)
			if got := fmt.Sprint(err); tc.want == "" && err != nil || !strings.Contains(got, tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	if err := same("t", []int64{1, 1}, []int64{1, 1}); err == nil {
		t.Error("a key that stands there twice was not found")
	}
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
