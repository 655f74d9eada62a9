package sqlstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
)

// unfenced stores the fingerprint of another database, but doesn't raise the fence.
type unfenced struct{ *operated }

func withoutFence(s *operated) lease.Store { return unfenced{s} }

func (s unfenced) Fence(ctx context.Context, terms lease.Terms, _ string) error {
	p, err := s.Probe(ctx, lease.Query{Terms: terms})
	if err != nil {
		return err
	}
	return s.SetFingerprint(ctx, terms, p.Current)
}

// thoughtless creates namespaces and rows that start at the present time, even though
// others of the same names may already have granted later counters.
type thoughtless struct{ unfenced }

func atThePresent(s *operated) lease.Store { return thoughtless{unfenced{s}} }

func (s thoughtless) CreateNamespace(ctx context.Context, terms lease.Terms, position int64) (bool, error) {
	created, err := s.operated.CreateNamespace(ctx, terms, position)
	if !created || err != nil {
		return false, err
	}
	if err := s.exec(ctx, "UPDATE {ns} SET fence = ? WHERE namespace = ?", terms.At(time.Now().UnixMicro()).Tick, terms.Namespace); err != nil {
		return false, err
	}
	p, err := s.Probe(ctx, lease.Query{Terms: terms})
	if err != nil {
		return false, err
	}
	return true, s.SetFingerprint(ctx, terms, p.Current)
}

func (s thoughtless) AddRows(ctx context.Context, terms lease.Terms, least, most int64) error {
	if err := s.operated.AddRows(ctx, terms, least, most); err != nil {
		return err
	}
	return s.exec(ctx, "UPDATE {lease} SET bound = ? WHERE namespace = ? AND token = '-' AND revision = 0", terms.At(time.Now().UnixMicro()).Tick, terms.Namespace)
}

// TestTruncatedTables lets an operator empty the tables while a process is alive, and
// continues to issue what it was granted.
func TestTruncatedTables(t *testing.T) {
	for _, dialect := range dbtest.Databases(t) {
		db := dbtest.Durable(t, dialect)
		conn := db.Connect(t)
		for name, tables := range map[string][]string{"of leases": {"lease"}, "both": {"lease", "lease_ns"}} {
			for _, broken := range []func(*operated) lease.Store{nil, atThePresent} {
				c := &fleet{db: db, table: "lease", broken: broken, window: time.Minute}
				t.Run(fmt.Sprint(dialect, " ", name, " ", c.variant()), func(t *testing.T) {
					c.T = t
					c.start()
					for _, table := range tables {
						if dialect == "sqlite" {
							exec(t, conn, "DELETE FROM "+table)
						} else {
							exec(t, conn, "TRUNCATE TABLE "+table)
						}
					}
					c.goOn(db)
					c.verdict(t)
					exec(t, conn, "DROP TABLE lease", "DROP TABLE lease_ns")
				})
			}
		}
	}
}

// dumped returns a database on another server that contains the same rows.
func dumped(t *testing.T, db dbtest.DB) dbtest.DB {
	t.Helper()
	copied := dbtest.Durable(t, db.Dialect)
	from, to := db.Connect(t), copied.Connect(t)
	for _, table := range []string{"lease0", "lease1"} {
		store := open(t, copied, to, table)
		if err := store.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{store.lease, store.ns} {
			rows, err := from.Query("SELECT * FROM " + table)
			if err != nil {
				t.Fatal(err)
			}
			columns, err := rows.Columns()
			if err != nil {
				t.Fatal(err)
			}
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(string)
			}
			for rows.Next() {
				if err := rows.Scan(values...); err != nil {
					t.Fatal(err)
				}
				marks := strings.TrimSuffix(strings.Repeat("?, ", len(values)), ", ")
				if err := store.exec(t.Context(), "INSERT INTO "+table+" VALUES ("+marks+")", values...); err != nil {
					t.Fatal(err)
				}
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return copied
}
