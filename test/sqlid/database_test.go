package sqlid_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/snowkey-go/snowkey/hooks/sqlid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// insert fills in rows and inserts them, all in one transaction.
func insert[R any](t *testing.T, db *sql.DB, dialect string, f *sqlid.Filler, rows []R, key func(*R) any) error {
	t.Helper()
	if err := f.Fill(t.Context(), rows); err != nil {
		return err
	}
	query := "INSERT INTO t (id, n) VALUES (?, ?)"
	if dialect == "postgres" {
		query = "INSERT INTO t (id, n) VALUES ($1, $2)"
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for i := range rows {
		if _, err := tx.ExecContext(t.Context(), query, key(&rows[i]), i); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// stored compares the table with the rows in memory. They must have the same keys, and
// the keys that were filled in must be ascending.
func stored[K comparable, R any](t *testing.T, about dbtest.DB, column string, preset R, get func(R) K, key func(*R) any) {
	t.Run(fmt.Sprintf("%T in %s", preset, column), func(t *testing.T) {
		db := about.Connect(t)
		for _, statement := range []string{"DROP TABLE IF EXISTS t", "CREATE TABLE t (id " + column + " PRIMARY KEY, n INT)"} {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		s := new(idtest.Source)
		f := sqlid.New(s)
		rows := []R{*new(R), preset, *new(R)}
		if err := insert(t, db, about.Dialect, f, rows, key); err != nil {
			t.Fatal(err)
		}
		var got []K
		found, err := db.QueryContext(t.Context(), "SELECT id FROM t ORDER BY n")
		if err != nil {
			t.Fatal(err)
		}
		defer found.Close()
		for found.Next() {
			var k K
			if err := found.Scan(&k); err != nil {
				t.Fatal(err)
			}
			got = append(got, k)
		}
		if err := found.Err(); err != nil {
			t.Fatal(err)
		}
		if want := []K{get(rows[0]), get(preset), get(rows[2])}; !slices.Equal(got, want) {
			t.Errorf("the table holds %v, memory %v", got, want)
		}
		if got[0] == got[2] || get(rows[0]) == *new(K) {
			t.Errorf("the keys are %v", got)
		}

		s.Err = errors.ErrUnsupported
		if err := insert(t, db, about.Dialect, f, make([]R, 2), key); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("a source that fails: %v", err)
		}
		var n int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM t").Scan(&n); err != nil || n != 3 {
			t.Errorf("a source that fails leaves %d rows (%v)", n, err)
		}
	})
}

func TestDatabases(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, about dbtest.DB) {
		stored(t, about, "BIGINT", user{7}, func(r user) pk.ID { return r.ID }, func(r *user) any { return r.ID })
		stored(t, about, "BIGINT", typed{7}, func(r typed) pk.Of[typed] { return r.ID }, func(r *typed) any { return r.ID })
		stored(t, about, "BIGINT", stringy{"7"}, func(r stringy) pk.String { return r.ID }, func(r *stringy) any { return r.ID })
		stored(t, about, "BIGINT", maybe{new(pk.ID(7))}, func(r maybe) pk.ID { return *r.ID }, func(r *maybe) any { return r.ID })
		stored(t, about, "BIGINT", tagged{7}, func(r tagged) int64 { return r.Key }, func(r *tagged) any { return r.Key })
		stored(t, about, "BIGINT", raised{7}, func(r raised) uint64 { return r.Key }, func(r *raised) any { return r.Key })
		stored(t, about, "BIGINT", named{7}, func(r named) number { return r.Key }, func(r *named) any { return r.Key })
		stored(t, about, "BIGINT", byPointer{Base: &Base{7}}, func(r byPointer) pk.ID { return r.ID }, func(r *byPointer) any { return r.ID })
		stored(t, about, "VARCHAR(20)", text{7}, func(r text) pk.Text { return r.ID }, func(r *text) any { return r.ID })
		stored(t, about, "VARCHAR(20)", written{"7"}, func(r written) string { return r.Key }, func(r *written) any { return r.Key })
		stored(t, about, "CHAR(13)", sorted{7}, func(r sorted) pk.SortText { return r.ID }, func(r *sorted) any { return r.ID })
	})
}
