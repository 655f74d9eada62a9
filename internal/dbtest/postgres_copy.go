package dbtest

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
)

// A Standby is a Postgres that follows another, asynchronously, until it is
// promoted. [StandbyOf] makes one.
type Standby struct {
	DB      // the primary's database of that name; it can be read
	primary DB
	link    *Proxy
}

// StandbyOf starts a standby of db's server from a backup. The server must come from
// [Durable] or [Killable]. The standby ends with the test.
func StandbyOf(t TB, db DB) *Standby {
	t.Helper()
	through, link := db.Through(t)
	standby := copyOf(t, db, through.DSN, `pg_basebackup --write-recovery-conf "$@"`)
	return &Standby{DB: standby, primary: db, link: link}
}

// Lag returns when the standby has everything that the primary has committed. Later
// commits do not reach the standby.
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

// Promote makes the standby a primary. It returns when the new primary accepts commits.
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

// FilesOf starts another server on a backup of the files of db's server, and returns
// its database of the same name. The server of db must come from [Durable] or
// [Killable]. The new server does not know that it is a copy. It ends with the test.
func FilesOf(t TB, db DB) DB {
	t.Helper()
	return copyOf(t, db, db.DSN, `pg_basebackup "$@"`)
}

// RecoveryOf is [FilesOf] with a point-in-time recovery, as from an archive.
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

// copyOf starts a server on the directory $data, which the script fills. In the script,
// "$@" are the arguments of pg_basebackup that copy the server of dsn. copyOf returns
// the copy of db.
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

// read reads one value over a new connection.
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
