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

func TestStandbyTakesOverWithoutTheLastCommits(t *testing.T) {
	requirePrograms(t, "postgres")
	db, process := Killable(t, "postgres")
	conn := db.Connect(t)
	mustExec(t, conn, "CREATE TABLE kept (n INT)")
	standby := StandbyOf(t, db)
	for range 3 {
		mustExec(t, conn, insertRow)
	}
	cluster, timeline := identity(t, db)
	if err := standby.Lag(); err != nil {
		t.Fatal(err)
	}
	mustExec(t, conn, insertRow)
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	there := standby.Connect(t)
	if _, err := there.Exec(insertRow); err == nil {
		t.Error("the standby takes commits before it is promoted")
	}
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	if n := count(t, there); n != 3 {
		t.Errorf("%d rows, want the 3 that it had when it began to lag", n)
	}
	mustExec(t, there, insertRow)
	if c, tl := identity(t, standby.DB); c != cluster || tl == timeline {
		t.Errorf("cluster %s and timeline %s became %s and %s; want the same cluster and another timeline", cluster, timeline, c, tl)
	}
}

func TestBackupsOfPostgres(t *testing.T) {
	requirePrograms(t, "postgres")
	db := Durable(t, "postgres")
	conn := db.Connect(t)
	mustExec(t, conn, "CREATE TABLE kept (n INT)")
	cluster, timeline := identity(t, db)
	for name, restore := range map[string]func(TB, DB) DB{"files": FilesOf, "recovery": RecoveryOf} {
		before := count(t, conn)
		restored := restore(t, db)
		mustExec(t, conn, insertRow)
		there := restored.Connect(t)
		if n := count(t, there); n != before {
			t.Errorf("%s: %d rows, want %d", name, n, before)
		}
		mustExec(t, there, insertRow)
		if c, tl := identity(t, restored); c != cluster || (tl == timeline) != (name == "files") {
			t.Errorf("%s: cluster %s and timeline %s became %s and %s", name, cluster, timeline, c, tl)
		}
	}
}
