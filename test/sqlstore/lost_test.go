package sqlstore_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
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

// A scene is what the processes of a fleet do before a database is copied, and what they
// do afterwards, of which the copy knows nothing.
type scene struct {
	name, user   string
	window       time.Duration // defaults to 3 s
	steady       bool
	without      func(*operated) lease.Store
	before, lost func(*fleet)
	byHand       bool // the copy looks the same, so the operator has to raise the fence
}

// lose plays scenes. keep makes sure that the copy has what happened so far, and nothing
// that happens afterwards. fail puts the copy in place of the original.
func lose(t *testing.T, scenes []scene, original, copied func(user string) dbtest.DB, keep, fail func() error) {
	t.Helper()
	fleets := make(map[*fleet]scene)
	for i, s := range scenes {
		for _, broken := range []func(*operated) lease.Store{nil, s.without} {
			c := &fleet{T: t, db: original(s.user), table: fmt.Sprintf("lease%d_%t", i, broken == nil), broken: broken, window: cmp.Or(s.window, 3*time.Second), steady: s.steady}
			s.before(c)
			fleets[c] = s
		}
	}
	dbtest.NoError(t, keep())
	for c, s := range fleets {
		s.lost(c)
	}
	dbtest.NoError(t, fail())
	for c, s := range fleets {
		db := copied(s.user)
		if s.byHand && c.broken == nil {
			dbtest.NoError(t, open(t, db, db.Connect(t), c.table).Fence(t.Context(), c.terms(), ""))
		}
		for _, link := range c.links {
			link.Cut()
		}
		c.takeOver(db)
		t.Run(s.name+" "+c.variant(), c.verdict)
	}
}

// restores lets processes claim a lease, and continue on a database that has been restored
// to its state before.
func restores(t *testing.T, s scene, original dbtest.DB, restore func() dbtest.DB) {
	t.Helper()
	var restored dbtest.DB
	s.name, s.without, s.before, s.lost = "a claim", withoutFence, (*fleet).startAndClose, (*fleet).start
	lose(t, []scene{s}, func(string) dbtest.DB { return original }, func(string) dbtest.DB { return restored },
		func() error { restored = restore(); return nil }, func() error { return nil })
}

// TestDumpedDatabase restores a dump into another database. TestNightlyRestoredDatabase
// restores whole servers.
func TestDumpedDatabase(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			db := dbtest.Open(t, dialect)
			restores(t, scene{window: time.Minute, steady: true}, db, func() dbtest.DB { return dumped(t, db, dbtest.Open(t, dialect)) })
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

// dumped copies the rows of the stores of restores into another database, which it returns.
func dumped(t *testing.T, db, copied dbtest.DB) dbtest.DB {
	t.Helper()
	from, to := db.Connect(t), copied.Connect(t)
	for _, table := range []string{"lease0_true", "lease0_false"} {
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
	return copied
}
