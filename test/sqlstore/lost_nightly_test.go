//go:build nightly

package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
)

// withoutWaiting makes no commit wait for the disk.
func withoutWaiting(request []byte) {
	overwrite(request, "set_config('synchronous_commit', 'on', true)", "set_config('synchronous_commit', 'off',true)")
}

func lostWrites(user string) []scene {
	return []scene{
		{name: "a claim", user: user, without: withoutFence, before: (*fleet).startAndClose, lost: (*fleet).start},
		{name: "a renewal", user: user, without: withoutFence, before: (*fleet).start, lost: (*fleet).renewals},
		{name: "a takeover", user: user, without: withoutFence, before: (*fleet).start, lost: func(c *fleet) { c.links[0].Cut(); c.start() }},
	}
}

// A primary is killed before its standby has received the last commits. One of the roles
// may not read what identifies the server. Nothing shows to it that another server
// answers, so it is the hold-off that keeps ids unique.
func TestNightlyPromotedStandby(t *testing.T) {
	primary, process := dbtest.Killable(t, "postgres")
	dbtest.Exec(t, primary.Connect(t), "CREATE ROLE app LOGIN", "GRANT ALL ON SCHEMA public TO app",
		"REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
	as := func(db dbtest.DB, user string) dbtest.DB {
		db.DSN = strings.Replace(db.DSN, "postgres@", user, 1)
		return db
	}
	var standby *dbtest.Standby
	lose(t, append(lostWrites("postgres@"),
		scene{name: "a namespace", user: "postgres@", window: time.Minute, without: atThePresent, before: func(*fleet) {}, lost: (*fleet).start},
		scene{name: "a renewal that holds off", user: "app@", without: withoutHoldOff, before: (*fleet).start, lost: (*fleet).renewals},
	), func(user string) dbtest.DB { return as(primary, user) }, func(user string) dbtest.DB { return as(standby.DB, user) },
		func() error {
			standby = dbtest.StandbyOf(t, primary)
			return standby.Lag()
		}, func() error { return errors.Join(process.Kill(), standby.Promote()) })
}

// TestNightlyCrash kills servers that acknowledge commits before these are on disk.
func TestNightlyCrash(t *testing.T) {
	for _, tc := range []struct {
		dialect   string
		negligent []string // makes the server do that, and flushes everything that happened before
		without   func(*operated) lease.Store
		edit      func(request []byte) // of that store
		forgets   bool                 // whether it also loses commits of unchanged stores
	}{
		{"postgres", []string{
			"CHECKPOINT", "ALTER SYSTEM SET synchronous_commit = off", "ALTER SYSTEM SET wal_writer_delay = '10s'", "SELECT pg_reload_conf()",
		}, withoutFence, withoutWaiting, false}, // a keeper would raise the fence when it finds that one of its commits is lost
		{"mysql", []string{
			"SET GLOBAL innodb_flush_log_at_trx_commit = 1", "FLUSH ENGINE LOGS", "SET GLOBAL innodb_flush_log_at_trx_commit = 0",
		}, withoutHoldOff, nil, true},
	} {
		t.Run(tc.dialect, func(t *testing.T) {
			db, process := dbtest.Killable(t, tc.dialect)
			for _, broken := range []func(*operated) lease.Store{nil, tc.without} {
				c := &fleet{db: db, table: fmt.Sprint("lease_", broken == nil), broken: broken, window: time.Second}
				if broken != nil {
					c.edit = tc.edit
				}
				t.Run(c.variant(), func(t *testing.T) {
					c.T = t
					c.startAndClose()
					dbtest.Exec(t, db.Connect(t), tc.negligent...)
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
	dbtest.NoError(c, process.Kill())
	for _, link := range c.links {
		link.Cut()
	}
	dbtest.NoError(c, process.Start())
	conn := c.db.Connect(c)
	dbtest.Exec(c.T, conn, negligent...)
	rows, err := open(c.T, c.db, conn, c.table).Rows(c.Context(), c.terms(), 0, 0)
	if err != nil || len(rows) != 1 {
		c.Fatal(rows, err)
	}
	return rows[0].Bound < c.bound()
}

// TestNightlyRestoredDatabase restores whole servers.
func TestNightlyRestoredDatabase(t *testing.T) {
	elsewhere := func(t *testing.T, db dbtest.DB) dbtest.DB { return dumped(t, db, dbtest.Durable(t, db.Dialect)) }
	for _, tc := range []struct {
		name, dialect string
		restore       func(*testing.T, dbtest.DB) dbtest.DB
		byHand        bool
	}{
		{"postgres, recovered to a point in time", "postgres", func(t *testing.T, db dbtest.DB) dbtest.DB {
			return dbtest.FilesOf(t, db, "restore_command = 'false'", "recovery_target = 'immediate'", "recovery_target_action = 'promote'")
		}, false},
		{"postgres, files of a backup", "postgres", func(t *testing.T, db dbtest.DB) dbtest.DB { return dbtest.FilesOf(t, db) }, true},
		{"postgres, dumped into another cluster", "postgres", elsewhere, false},
		{"mysql, dumped into another server", "mysql", elsewhere, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			db := dbtest.Durable(t, tc.dialect)
			restores(t, scene{window: time.Second, byHand: tc.byHand}, db, func() dbtest.DB { return tc.restore(t, db) })
		})
	}
}

// On a standby, the store must report that it is read-only, and Open fails immediately.
func TestNightlyOpenOnAStandby(t *testing.T) {
	primary := dbtest.Durable(t, "postgres")
	claimed(t, open(t, primary, primary.Connect(t), "lease"))
	standby := dbtest.StandbyOf(t, primary)
	dbtest.NoError(t, standby.Lag())
	store := open(t, standby.DB, standby.Connect(t), "lease")
	expect(t, store, "not-flushed", "read-only") // the copy runs with fsync = off
	if p := probe(t, store); p.Fingerprint == p.Current || p.Fingerprint == "" {
		t.Errorf("the standby has the fingerprint %q, and the primary %q", p.Current, p.Fingerprint)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := snowkey.Open(ctx, store, snowkey.Config{Logger: slog.New(slog.DiscardHandler)})
	if _, ok := errors.AsType[*lease.PermanentError](err); !ok || !strings.Contains(err.Error(), "primary") {
		t.Errorf("Open: %v", err)
	}
}
