//go:build nightly

package sqlstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/failpoint"
	"github.com/snowkey-go/snowkey/lease"
)

// A careless store doesn't make commits wait for the disk if that's the server's
// default. It also has no fence, which a keeper would otherwise raise when it finds
// that one of its commits is lost.
type careless struct{ unfenced }

func withoutWaiting(s *operated) lease.Store { return careless{unfenced{s}} }

func notWaiting(ctx context.Context) context.Context {
	return failpoint.WithStatements(ctx, func(query string) string {
		return strings.Replace(query, "set_config('synchronous_commit', 'on', true), ", "", 1)
	})
}

func (s careless) Claim(ctx context.Context, c lease.Claim) (lease.Row, bool, error) {
	return s.unfenced.Claim(notWaiting(ctx), c)
}

func (s careless) Renew(ctx context.Context, r lease.Renewal) (lease.Row, bool, error) {
	return s.unfenced.Renew(notWaiting(ctx), r)
}

func (s careless) Release(ctx context.Context, terms lease.Terms, held lease.Row, unused int64) (bool, error) {
	return s.unfenced.Release(notWaiting(ctx), terms, held, unused)
}

func (s careless) CreateNamespace(ctx context.Context, terms lease.Terms, position int64) (bool, error) {
	return s.unfenced.CreateNamespace(notWaiting(ctx), terms, position)
}

func (s careless) AddRows(ctx context.Context, terms lease.Terms, least, most int64) error {
	return s.unfenced.AddRows(notWaiting(ctx), terms, least, most)
}

// A primary is killed before its standby has received the last commits.
func TestNightlyPromotedStandby(t *testing.T) {
	type scene struct {
		name         string
		window       time.Duration
		without      func(*operated) lease.Store
		before, lost func(*fleet) // changes that the standby has, and those that it doesn't have
		fleet        *fleet
	}
	primary, process := dbtest.Killable(t, "postgres")
	var scenes []scene
	for _, s := range []scene{
		{name: "a claim", window: time.Second, without: withoutFence, before: (*fleet).startAndClose, lost: (*fleet).start},
		{name: "a renewal", window: time.Second, without: withoutFence, before: (*fleet).start, lost: (*fleet).renewals},
		{name: "a takeover", window: time.Second, without: withoutFence, before: (*fleet).start, lost: func(c *fleet) { c.links[0].Cut(); c.start() }},
		{name: "a namespace", window: time.Minute, without: atThePresent, before: func(*fleet) {}, lost: (*fleet).start},
	} {
		for _, broken := range []func(*operated) lease.Store{nil, s.without} {
			s.fleet = &fleet{T: t, db: primary, table: fmt.Sprint("lease", len(scenes)), broken: broken, window: s.window}
			scenes = append(scenes, s)
		}
	}
	for _, s := range scenes {
		s.before(s.fleet)
	}
	standby := dbtest.StandbyOf(t, primary)
	failOver(t, process, standby, func() {
		for _, s := range scenes {
			s.lost(s.fleet)
		}
	})
	for _, s := range scenes {
		s.fleet.goOn(standby.DB)
		t.Run(s.name+" "+s.fleet.variant(), s.fleet.verdict)
	}
}

// failOver kills a primary and promotes its standby, which lacks the commits of lost.
func failOver(t *testing.T, primary *dbtest.Process, standby *dbtest.Standby, lost func()) {
	t.Helper()
	if err := standby.Lag(); err != nil {
		t.Fatal(err)
	}
	lost()
	if err := primary.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
}

// TestNightlyCrash kills servers that acknowledge commits before these are on disk.
func TestNightlyCrash(t *testing.T) {
	for _, tc := range []struct {
		dialect   string
		negligent []string // makes the server do that, and flushes everything that happened before
		without   func(*operated) lease.Store
		forgets   bool // whether it also loses commits of unchanged stores
	}{
		{"postgres", []string{
			"CHECKPOINT", "ALTER SYSTEM SET synchronous_commit = off", "ALTER SYSTEM SET wal_writer_delay = '10s'", "SELECT pg_reload_conf()",
		}, withoutWaiting, false},
		{"mysql", []string{
			"SET GLOBAL innodb_flush_log_at_trx_commit = 1", "FLUSH ENGINE LOGS", "SET GLOBAL innodb_flush_log_at_trx_commit = 0",
		}, withoutHoldOff, true},
	} {
		t.Run(tc.dialect, func(t *testing.T) {
			db, process := dbtest.Killable(t, tc.dialect)
			for _, broken := range []func(*operated) lease.Store{nil, tc.without} {
				c := &fleet{db: db, table: fmt.Sprint("lease_", broken == nil), broken: broken, window: time.Second}
				t.Run(c.variant(), func(t *testing.T) {
					c.T = t
					c.startAndClose()
					exec(t, db.Connect(t), tc.negligent...)
					c.start()
					forgets := tc.forgets || broken != nil
					// The server may happen to have flushed the commits just before it
					// was killed.
					for attempts := 5; c.crash(process, tc.negligent) != forgets; attempts-- {
						if !forgets || attempts == 0 {
							t.Fatalf("the server has forgotten a grant: %v, want %v", !forgets, forgets)
						}
						c.goOn(db)
						c.renewals()
					}
					c.goOn(db)
					c.verdict(t)
				})
			}
		})
	}
}

// crash kills the server and starts it again, just as negligent as before. When it
// returns, all processes are disconnected. It reports whether the server has lost a
// grant.
func (c *fleet) crash(process *dbtest.Process, negligent []string) (forgot bool) {
	c.Helper()
	if err := process.Kill(); err != nil {
		c.Fatal(err)
	}
	for _, link := range c.links {
		link.Cut()
	}
	if err := process.Start(); err != nil {
		c.Fatal(err)
	}
	conn := c.db.Connect(c)
	exec(c.T, conn, negligent...)
	rows, err := open(c.T, c.db, conn, c.table).Rows(c.Context(), c.terms(), 0, 0)
	if err != nil || len(rows) != 1 {
		c.Fatal(rows, err)
	}
	return rows[0].Bound < c.bound()
}

// TestNightlyRestoredDatabase lets processes continue on a database that has been restored to
// its state before their leases.
func TestNightlyRestoredDatabase(t *testing.T) {
	for _, tc := range []struct {
		name, dialect string
		restore       func(*testing.T, dbtest.DB) dbtest.DB
		byHand        bool // the database looks the same, so the operator has to raise the fence
	}{
		{"postgres, recovered to a point in time", "postgres", func(t *testing.T, db dbtest.DB) dbtest.DB { return dbtest.RecoveryOf(t, db) }, false},
		{"postgres, files of a backup", "postgres", func(t *testing.T, db dbtest.DB) dbtest.DB { return dbtest.FilesOf(t, db) }, true},
		{"postgres, dumped into another cluster", "postgres", dumpedElsewhere, false},
		{"mysql, dumped into another server", "mysql", dumpedElsewhere, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			db := dbtest.Durable(t, tc.dialect)
			var casts []*fleet
			for _, broken := range []func(*operated) lease.Store{nil, withoutFence} {
				c := &fleet{T: t, db: db, table: fmt.Sprint("lease", len(casts)), broken: broken, window: time.Second}
				c.startAndClose()
				casts = append(casts, c)
			}
			restored := tc.restore(t, db)
			for _, c := range casts {
				c.start()
				if tc.byHand && c.broken == nil {
					if err := open(t, restored, restored.Connect(t), c.table).Fence(t.Context(), c.terms(), ""); err != nil {
						t.Fatal(err)
					}
				}
				for _, link := range c.links {
					link.Cut()
				}
				c.goOn(restored)
				t.Run(c.variant(), c.verdict)
			}
		})
	}
}

// A role may not read what identifies the server, and the standby that is promoted lacks
// the last commits. Nothing shows that another server answers, so it is the hold-off that
// keeps ids unique.
func TestNightlyRoleThatCannotSeeAFailover(t *testing.T) {
	primary, process := dbtest.Killable(t, "postgres")
	exec(t, primary.Connect(t), "CREATE ROLE app LOGIN", "GRANT ALL ON SCHEMA public TO app",
		"REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
	as := func(db dbtest.DB) dbtest.DB {
		db.DSN = strings.Replace(db.DSN, "postgres@", "app@", 1)
		return db
	}
	var fleets []*fleet
	for i, broken := range []func(*operated) lease.Store{nil, withoutHoldOff} {
		c := &fleet{T: t, db: as(primary), table: fmt.Sprint("lease", i), broken: broken, window: time.Second}
		c.start()
		fleets = append(fleets, c)
	}
	standby := dbtest.StandbyOf(t, primary)
	failOver(t, process, standby, func() {
		for _, c := range fleets {
			c.renewals()
		}
	})
	for _, c := range fleets {
		c.goOn(as(standby.DB))
		t.Run(c.variant(), c.verdict)
	}
}

func dumpedElsewhere(t *testing.T, db dbtest.DB) dbtest.DB {
	t.Helper()
	copied := dbtest.Durable(t, db.Dialect)
	dump(t, db, copied)
	return copied
}
