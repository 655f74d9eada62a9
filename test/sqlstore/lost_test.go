package sqlstore_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
)

// In these tests, databases lose commits that they have already acknowledged. Each test
// runs with unchanged stores, for which there must be no duplicates, and with stores
// that lack the remedy, for which there must be some. This proves that the remedy is
// needed.

// unfenced stores the fingerprint of another database, but doesn't raise the fence.
type unfenced struct{ *operated }

func withoutFence(s *operated) lease.Store { return unfenced{s} }

func withoutHoldOff(s *operated) lease.Store {
	s.steady = true
	return unfenced{s}
}

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

// TestTruncatedTables lets an operator empty or drop the tables while a process is alive, and
// continues to issue what it was granted.
func TestTruncatedTables(t *testing.T) {
	t.Parallel()
	for _, dialect := range dbtest.Servers(t) {
		for name, statements := range map[string][]string{
			"of leases": {"TRUNCATE TABLE lease"}, "both": {"TRUNCATE TABLE lease", "TRUNCATE TABLE lease_ns"}, "dropped": {"DROP TABLE lease", "DROP TABLE lease_ns"},
		} {
			for _, broken := range []func(*operated) lease.Store{nil, atThePresent} {
				c := &fleet{table: "lease", broken: broken, window: time.Minute, steady: true}
				t.Run(fmt.Sprint(dialect, " ", name, " ", c.variant()), func(t *testing.T) {
					t.Parallel()
					c.T, c.db = t, dbtest.Open(t, dialect)
					c.start()
					dbtest.Exec(t, c.db.Connect(t), statements...)
					c.takeOver(c.db)
					c.verdict(t)
				})
			}
		}
	}
}

// TestDumpedDatabase lets processes continue on another database, into which the rows were
// dumped before their leases. TestNightlyRestoredDatabase restores whole servers.
func TestDumpedDatabase(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			db, restored := dbtest.Open(t, dialect), dbtest.Open(t, dialect)
			var casts []*fleet
			for _, broken := range []func(*operated) lease.Store{nil, withoutFence} {
				c := &fleet{T: t, db: db, table: fmt.Sprint("lease", len(casts)), broken: broken, window: time.Minute, steady: true}
				c.startAndClose()
				casts = append(casts, c)
			}
			dump(t, db, restored)
			for _, c := range casts {
				c.start()
				for _, link := range c.links {
					link.Cut()
				}
				c.takeOver(restored)
				t.Run(c.variant(), c.verdict)
			}
		})
	}
}

// TestRestoredTables lets an operator restore an older copy of the tables into the same
// database while a process is alive, with the statements of dump programs and others.
// MySQL shows no trace of the last two, so docs/leases.md says to call Fence.
func TestRestoredTables(t *testing.T) {
	t.Parallel()
	create := map[string]string{"postgres": "CREATE TABLE {to} (LIKE {from} INCLUDING ALL)", "mysql": "CREATE TABLE {to} LIKE {from}"}
	for _, tc := range []struct{ dialect, empty string }{
		{"postgres", "DROP TABLE {to}"}, {"mysql", "DROP TABLE {to}"}, {"postgres", "TRUNCATE TABLE {to}"}, {"postgres", "DELETE FROM {to}"},
	} {
		for _, broken := range []func(*operated) lease.Store{nil, withoutFence} {
			c := &fleet{table: "lease", broken: broken, window: time.Minute, steady: true}
			t.Run(fmt.Sprint(tc.dialect, " ", tc.empty, " ", c.variant()), func(t *testing.T) {
				t.Parallel()
				c.T, c.db = t, dbtest.Open(t, tc.dialect)
				conn := c.db.Connect(t)
				fill := func(from, to string, statements ...string) {
					for _, table := range []string{"lease", "lease_ns"} {
						for _, s := range append(statements, "INSERT INTO {to} SELECT * FROM {from}") {
							dbtest.Exec(t, conn, strings.NewReplacer("{from}", from+table, "{to}", to+table).Replace(s))
						}
					}
				}
				c.startAndClose()
				fill("", "saved_", create[tc.dialect])
				c.start()
				if tc.dialect == "mysql" {
					// The fingerprint has the second in which the tables were created.
					dbtest.Await(t, "the next second", func() bool {
						return dbtest.Rows(t, conn, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND create_time >= NOW()")[0] == "0"
					})
				}
				if strings.HasPrefix(tc.empty, "DROP") {
					fill("saved_", "", tc.empty, create[tc.dialect])
				} else {
					fill("saved_", "", tc.empty)
				}
				c.takeOver(c.db)
				c.verdict(t)
			})
		}
	}
}

// A delayed store answers each probe with the rows that were there at the probe before, as
// a standby does that lags. The other values are those of the primary, since a process
// waits until they are.
type delayed struct {
	*operated
	last *atomic.Pointer[lease.Probe] // of all processes
}

func (s delayed) Probe(ctx context.Context, q lease.Query) (lease.Probe, error) {
	p, err := s.operated.Probe(ctx, q)
	if err != nil {
		return p, err
	}
	read := p
	if was := s.last.Swap(&read); was != nil && was.HasRow {
		p.Row, p.HasRow = was.Row, true
		p.Row.Now = p.Now
		p.HasFree = q.Terms.Free(p.Row)
	}
	return p, nil
}

// A rash store claims the row that a probe has shown without the condition that the row is
// still the same.
type rash struct{ delayed }

func (s rash) Claim(ctx context.Context, c lease.Claim) (lease.Row, bool, error) {
	r := c.Seen
	r.Token, r.Label, r.Revision = c.Token, c.Label, c.Seen.Revision+1
	r.Bound, r.Expires = max(r.Bound, min(c.Wanted, c.Terms.At(r.Now).Cap)), r.Now+c.Terms.TTL
	return r, true, s.Edit(ctx, c.Terms, r)
}

// TestStaleReads lets processes claim the same row one after the other, while each of them
// reads what the row was before.
func TestStaleReads(t *testing.T) {
	t.Parallel()
	for _, dialect := range dbtest.Servers(t) {
		for _, broken := range []bool{false, true} {
			t.Run(fmt.Sprint(dialect, " without the condition ", broken), func(t *testing.T) {
				t.Parallel()
				last := new(atomic.Pointer[lease.Probe])
				c := &fleet{T: t, db: dbtest.Open(t, dialect), table: "lease", window: time.Minute, steady: true, broken: func(s *operated) lease.Store {
					if broken {
						return rash{delayed{s, last}}
					}
					return delayed{s, last}
				}}
				c.startAndClose()
				c.start()
				if broken {
					c.takeOver(c.db) // the second process may not have found the row free
				}
				if n := c.duplicates(); (n > 0) != broken {
					t.Errorf("%d duplicates of %d counters", n, c.issued())
				}
			})
		}
	}
}

// dump copies the rows of two stores into another database.
func dump(t *testing.T, db, copied dbtest.DB) {
	t.Helper()
	from, to := db.Connect(t), copied.Connect(t)
	for _, table := range []string{"lease0", "lease1"} {
		store := open(t, copied, to, table)
		dbtest.NoError(t, store.Migrate(t.Context()))
		for _, table := range []string{store.lease, store.ns} {
			rows := dbtest.Must(from.Query("SELECT * FROM " + table))(t)
			values := make([]any, len(dbtest.Must(rows.Columns())(t)))
			for i := range values {
				values[i] = new(string)
			}
			for rows.Next() {
				dbtest.NoError(t, rows.Scan(values...))
				marks := strings.TrimSuffix(strings.Repeat("?, ", len(values)), ", ")
				dbtest.NoError(t, store.exec(t.Context(), "INSERT INTO "+table+" VALUES ("+marks+")", values...))
			}
			dbtest.NoError(t, rows.Err())
		}
	}
}
