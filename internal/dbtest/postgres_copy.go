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
// and returns the database of the same name there. The new server ends with the test.
// Without settings, it has no way of knowing that it is a copy. With settings, which are
// lines of its configuration, it goes through a recovery, as if it had been restored from
// an archive. The server of db must come from [Durable] or [Killable].
func FilesOf(t TB, db DB, settings ...string) DB {
	t.Helper()
	signal := ""
	if len(settings) > 0 {
		signal = "recovery.signal"
	}
	restored := copyOf(t, db, signal, settings...)
	NoError(t, restored.awaits("NOT pg_is_in_recovery()"))
	return restored
}

// copyOf takes a backup of db's server, starts a server on it, and returns the copy of db
// there. The backup gets an empty file called signal, unless that's empty, and the
// settings, each a line of a configuration file. It uses the functions for backups,
// because not every installation has the program pg_basebackup. Both servers have the
// same account, so the original copies its files to the new one.
func copyOf(t TB, db DB, signal string, settings ...string) DB {
	t.Helper()
	in, err := postgres.programs(Version("postgres"))
	if err != nil {
		missing(t, err)
	}
	in.initialise = func(data string) []string {
		err := db.session(func(ctx context.Context, conn *sql.Conn) error {
			start, stop := "pg_backup_start('dbtest', true)", "pg_backup_stop(false)"
			if majorOf(db.Version) < 15 {
				start, stop = "pg_start_backup('dbtest', true, false)", "pg_stop_backup(false, false)"
			}
			// The log comes last, because it must reach to the end of the backup.
			for _, statement := range []string{
				"SELECT " + start,
				shell("mkdir -m 700 " + data + "; for file in *; do case $file in postmaster.* | pg_wal) ;; *) cp -R -p $file " + data + " ;; esac; done"),
				"COPY (SELECT regexp_split_to_table(labelfile, E'\\n') FROM " + stop + ") TO '" + data + "/backup_label'",
				shell("cp -R -p pg_wal " + data),
			} {
				if _, err := conn.ExecContext(ctx, statement); err != nil {
					return fmt.Errorf("%s: %w", statement, err)
				}
			}
			return nil
		})
		if err != nil {
			return []string{"sh", "-c", "echo " + Quote([]string{err.Error()}) + "; exit 1"}
		}
		script := `printf '%s\n' "$2" >>"$0/postgresql.auto.conf"; [ -z "$1" ] || : >"$0/$1"`
		return []string{"sh", "-c", script, data, signal, strings.Join(settings, "\n")}
	}
	s, err := postgres.run(in, Options{fast: true})
	if err != nil {
		t.Fatalf("dbtest: a copy of %s: %v", db.Version, err)
	}
	t.Cleanup(s.stop)
	return db.At(s.Process.Address)
}

// shell returns a statement that runs a script on the server, in its data directory.
func shell(script string) string {
	return "COPY (SELECT) TO PROGRAM '" + strings.ReplaceAll("set -e; "+script, "'", "''") + "'"
}
