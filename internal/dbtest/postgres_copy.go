package dbtest

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
)

// A Standby is a Postgres that asynchronously follows another one until it's promoted.
// Use [StandbyOf] to create one.
type Standby struct {
	DB      // the standby's copy of the primary's database; read-only until Promote
	primary DB
	link    *Proxy
}

// StandbyOf takes a backup of db's server and starts a standby from it, which ends with
// the test. The server must come from [Durable] or [Killable].
func StandbyOf(t TB, db DB) *Standby {
	t.Helper()
	through, link := db.Through(t)
	standby := copyOf(t, db, through.DSN, `pg_basebackup --write-recovery-conf "$@"`)
	return &Standby{DB: standby, primary: db, link: link}
}

// Lag waits until the standby has everything that the primary has committed so far, and
// then disconnects it. Commits after that no longer reach the standby.
func (s *Standby) Lag() error {
	var position string
	if err := s.primary.read("SELECT pg_current_wal_flush_lsn()::text", &position); err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		var there bool
		if err := s.read("SELECT pg_last_wal_replay_lsn() >= '"+position+"'", &there); err != nil {
			return err
		}
		if there {
			s.link.Cut()
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("dbtest: the standby has not come to %s in a minute", position)
		}
	}
}

// Promote turns the standby into a primary, and returns once it accepts commits.
func (s *Standby) Promote() error {
	var promoted bool
	if err := s.read("SELECT pg_promote()", &promoted); err != nil {
		return err
	}
	if !promoted {
		return fmt.Errorf("dbtest: the standby is not promoted in a minute")
	}
	return nil
}

// FilesOf takes a backup of the files of db's server, starts another server on them,
// and returns the database of the same name there. The new server ends with the test,
// and has no way of knowing that it is a copy. The server of db must come from
// [Durable] or [Killable].
func FilesOf(t TB, db DB) DB {
	t.Helper()
	return copyOf(t, db, db.DSN, `pg_basebackup "$@"`)
}

// RecoveryOf is like [FilesOf], but the new server goes through a point-in-time
// recovery, as if it had been restored from an archive.
func RecoveryOf(t TB, db DB) DB {
	t.Helper()
	restored := copyOf(t, db, db.DSN, `pg_basebackup "$@" && touch "$data/recovery.signal" && printf '%s\n' \
		"restore_command = 'false'" "recovery_target = 'immediate'" "recovery_target_action = 'promote'" >>"$data/postgresql.auto.conf"`)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		var recovers bool
		if err := restored.read("SELECT pg_is_in_recovery()", &recovers); err != nil {
			t.Fatalf("%v", err)
		}
		if !recovers {
			return restored
		}
		if time.Now().After(deadline) {
			t.Fatalf("dbtest: %s has not recovered in a minute", db.Version)
		}
	}
}

// copyOf runs script, which must fill the directory $data, and starts a server on it. The
// script can use "$@" as the arguments with which pg_basebackup copies the server of dsn.
// copyOf returns the copy of db on the new server.
func copyOf(t TB, db DB, dsn, script string) DB {
	t.Helper()
	var paths []string
	err := obtain(postgres.pack, "postgres and pg_basebackup", func() (ok bool) {
		paths, ok = thisMachine.find(postgresDirs, "postgres", "pg_basebackup")
		return ok
	})
	if err != nil {
		missing(t, err)
	}
	in := postgresInstallation("", paths[0])
	in.initialise = func(data string) []string {
		return []string{"sh", "-c", `data=$1; shift; ` + strings.ReplaceAll(script, "pg_basebackup", quote(paths[1:])), "backup",
			data, "--pgdata=" + data, "--dbname=" + dsn, "--wal-method=stream", "--checkpoint=fast", "--no-sync"}
	}
	srv, err := postgres.startPrivate(in, false)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(srv.stop)
	_, address, err := postgres.addressOf(srv.dsn)
	if err == nil {
		db.DSN, err = postgres.withAddress(db.DSN, address)
	}
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	return db
}

// read reads a single value, using a new connection.
func (db DB) read(query string, value any) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	conn, err := sql.Open(db.Driver, db.DSN)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.QueryRowContext(ctx, query).Scan(value)
}
