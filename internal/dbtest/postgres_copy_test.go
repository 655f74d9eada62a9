//go:build unix

package dbtest

import "testing"

// identity returns the system identifier and the timeline of a Postgres cluster.
func identity(t *testing.T, db DB) (cluster, timeline string) {
	t.Helper()
	err := db.Connect(t).QueryRow("SELECT system_identifier, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) FROM pg_control_system()").Scan(&cluster, &timeline)
	if err != nil {
		t.Fatal(err)
	}
	return cluster, timeline
}

func TestCopiesOfPostgres(t *testing.T) {
	requirePrograms(t, "postgres")
	db := Durable(t, "postgres")
	conn := db.Connect(t)
	mustExec(t, conn, "CREATE TABLE kept (n INT)")
	cluster, timeline := identity(t, db)
	for name, of := range map[string]func(TB, DB) DB{"files": FilesOf, "recovery": RecoveryOf, "standby": func(t TB, db DB) DB {
		s := StandbyOf(t, db)
		if err := s.Lag(); err != nil {
			t.Fatalf("%v", err)
		}
		if s.read("INSERT INTO kept VALUES (1) RETURNING n", new(int)) == nil {
			t.Fatalf("the standby takes commits before it is promoted")
		}
		mustExec(t, db.Connect(t), insertRow) // which the standby lacks
		if err := s.Promote(); err != nil {
			t.Fatalf("%v", err)
		}
		return s.DB
	}} {
		before := count(t, conn)
		copied := of(t, db)
		mustExec(t, conn, insertRow)
		there := copied.Connect(t)
		if n := count(t, there); n != before {
			t.Errorf("%s: %d rows, want %d", name, n, before)
		}
		mustExec(t, there, insertRow)
		if c, tl := identity(t, copied); c != cluster || (tl == timeline) != (name == "files") {
			t.Errorf("%s: cluster %s and timeline %s became %s and %s", name, cluster, timeline, c, tl)
		}
	}
}
