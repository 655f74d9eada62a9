package dbtest

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
// the test. The server must come from [Durable] or [Killable]. Each of the settings is a
// line of the standby's configuration.
func StandbyOf(t TB, db DB, settings ...string) *Standby {
	t.Helper()
	through, link := db.Through(t)
	standby := copyOf(t, db, "standby.signal", append(settings, "primary_conninfo = '"+strings.ReplaceAll(through.DSN, "'", "''")+"'")...)
	return &Standby{DB: standby, primary: db, link: link}
}

// Lag waits until the standby has everything that the primary has committed so far, and
// then disconnects it. Commits after that no longer reach the standby.
func (s *Standby) Lag() error {
	var position string
	if err := s.primary.read("SELECT pg_current_wal_flush_lsn()::text", &position); err != nil {
		return err
	}
	if err := s.awaits("pg_last_wal_replay_lsn() >= '" + position + "'"); err != nil {
		return err
	}
	s.link.Cut()
	return nil
}

// Promote turns the standby into a primary, and returns once it accepts commits.
func (s *Standby) Promote() error { return s.awaits("pg_promote()") }

// awaits waits until a condition holds on db's server.
func (db DB) awaits(condition string) error {
	return Within(time.Minute, func() error {
		var holds bool
		if err := db.read("SELECT "+condition, &holds); err != nil || holds {
			return err
		}
		return fmt.Errorf("dbtest: %s for a minute: not %s", db.Version, condition)
	})
}

// FilesOf takes a backup of the files of db's server, starts another server on them,
// and returns the database of the same name there. The new server ends with the test,
// and has no way of knowing that it is a copy. The server of db must come from
// [Durable] or [Killable].
func FilesOf(t TB, db DB) DB {
	t.Helper()
	return copyOf(t, db, "")
}

// RecoveryOf is like [FilesOf], but the new server goes through a point-in-time
// recovery, as if it had been restored from an archive.
func RecoveryOf(t TB, db DB) DB {
	t.Helper()
	restored := copyOf(t, db, "recovery.signal",
		"restore_command = 'false'", "recovery_target = 'immediate'", "recovery_target_action = 'promote'")
	if err := restored.awaits("NOT pg_is_in_recovery()"); err != nil {
		t.Fatalf("%v", err)
	}
	return restored
}

// copyOf takes a backup of db's server, starts a server on it, and returns the copy of db
// there. The backup gets an empty file called signal, unless that's empty, and the
// settings, each a line of a configuration file.
func copyOf(t TB, db DB, signal string, settings ...string) DB {
	t.Helper()
	in, err := postgres.programs(postgres.chosen())
	if err != nil {
		missing(t, err)
	}
	home, asAccount, err := ownedDir(postgres.account, true)
	if err != nil {
		t.Fatalf("dbtest: no directory for a backup: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	backup := filepath.Join(home, "data")
	if err := db.backUp(backup, asAccount, signal, strings.Join(settings, "\n")); err != nil {
		t.Fatalf("dbtest: back up %s: %v", db.Version, err)
	}
	in.initialise = func(data string) []string { return []string{"cp", "-R", "-p", backup, data} }
	s, err := postgres.run(in, Options{fast: true})
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(s.stop)
	return db.At(s.Process.Address)
}

// backUp copies the files of db's server into a new directory. It uses the functions for
// backups, because not every installation has the program pg_basebackup.
func (db DB) backUp(to string, asAccount func(*exec.Cmd), signal, settings string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	server, err := sql.Open(db.Driver, db.DSN)
	if err != nil {
		return err
	}
	defer server.Close()
	server.SetMaxOpenConns(1) // the session that starts a backup must end it
	start, stop := "pg_backup_start('dbtest', true)", "pg_backup_stop(false)"
	if majorOf(db.Version) < 15 {
		start, stop = "pg_start_backup('dbtest', true, false)", "pg_stop_backup(false, false)"
	}
	var from, label string
	if err := server.QueryRowContext(ctx, "SELECT current_setting('data_directory') FROM "+start).Scan(&from); err != nil {
		return err
	}
	run := func(script string, args ...string) error {
		cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", "set -e; " + script, "backup", from, to}, args...)...)
		asAccount(cmd)
		cmd.Dir = "/"
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	// The log comes last, because it must reach to the end of the backup.
	err = run(`mkdir -m 700 "$2"; cd "$1"; for file in *; do
		case $file in postmaster.* | pg_wal) ;; *) cp -R -p "$file" "$2" ;; esac
	done`)
	if err != nil {
		return err
	}
	if err := server.QueryRowContext(ctx, "SELECT labelfile FROM "+stop).Scan(&label); err != nil {
		return err
	}
	return run(`cp -R -p "$1/pg_wal" "$2"; printf %s "$3" >"$2/backup_label"; printf '%s\n' "$5" >>"$2/postgresql.auto.conf"
		[ -z "$4" ] || : >"$2/$4"`, label, signal, settings)
}
