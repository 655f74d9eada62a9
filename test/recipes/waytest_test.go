package recipes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	. "github.com/snowkey-go/snowkey/internal/waytest"
)

// A recorder records the errors of a test.
type recorder struct {
	*testing.T
	errors []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// The tests of the tables must catch every way that loses a row or a digit, or that
// returns a wrong key.
func TestWaysAreChecked(t *testing.T) {
	conn := dbtest.SQLite(t).Connect(t)
	if _, err := conn.Exec("CREATE TABLE users (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR(40) NOT NULL UNIQUE, n BIGINT NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	source := new(idtest.Source)
	// write inserts rows, using change to change the key that gets stored.
	write := func(suffix string, change func(key int64) int64) func(ctx context.Context, rows []Row) ([]Row, error) {
		return func(ctx context.Context, rows []Row) (_ []Row, err error) {
			for i := range rows {
				if rows[i].ID == 0 {
					if rows[i].ID, err = source.Next(ctx); err != nil {
						return nil, err
					}
				}
				if _, err := conn.ExecContext(ctx, "INSERT INTO users (id, name, n) VALUES (?, ?, ?)"+suffix, change(rows[i].ID), rows[i].Name, rows[i].N); err != nil {
					return nil, err
				}
			}
			return rows, nil
		}
	}
	same := func(key int64) int64 { return key }
	merge := " ON CONFLICT (name) DO UPDATE SET n = EXCLUDED.n"
	for _, c := range []struct {
		kind    Kind
		create  func(ctx context.Context, rows []Row) ([]Row, error)
		outcome string
	}{
		{One, write("", same), Agrees},
		{Preset, write("", same), Agrees},
		{One, write("", func(key int64) int64 { return key + 1 }), "wrong key in memory"},
		{Preset, write("", func(key int64) int64 { return -key }), "wrong row"},
		{Upsert, write(merge, same), "wrong key in memory"},
		{Upsert, write(merge+", id = EXCLUDED.id", same), "wrong row"},
		{Ignore, write(merge, same), "wrong row"},
		{Slice, write("", func(key int64) int64 { return int64(float64(key)) }), "failed with rows in the table"},
		{Slice, func(context.Context, []Row) ([]Row, error) { return nil, nil }, "wrong number of rows"},
		{Failure, func(context.Context, []Row) ([]Row, error) { return nil, errors.New("no ids") }, Refused},
	} {
		for _, want := range []string{c.outcome, "another"} {
			r := &recorder{T: t}
			Run(r, conn, []Way{{Kind: c.kind, Want: want, Create: c.create}})
			if want == c.outcome && len(r.errors) > 0 || want == "another" && (len(r.errors) != 1 || !strings.Contains(r.errors[0], c.outcome+", want another")) {
				t.Errorf("%s, want %s: %q", c.kind, c.outcome, r.errors)
			}
		}
	}
}
