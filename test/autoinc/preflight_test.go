package autoinc_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/test/internal/catalogtest"
)

// There must not be a plan if the user lacks a privilege that a later step needs.
func TestPrivileges(t *testing.T) {
	t.Parallel()
	db, conn := one(t, "mysql")
	dbtest.Exec(t, conn, "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY)", "CREATE TABLE u (t INT, FOREIGN KEY (t) REFERENCES t (id))",
		"CREATE USER IF NOT EXISTS poor@'%' IDENTIFIED BY 'poor'")
	schema := dbtest.Rows(t, conn, "SELECT DATABASE()")[0]
	dbtest.Exec(t, conn, "GRANT SELECT, INSERT, UPDATE, ALTER, CREATE, DROP, INDEX, TRIGGER ON `"+schema+"`.* TO poor@'%'", "GRANT REFERENCES ON `"+schema+"`.t TO poor@'%'")
	t.Cleanup(func() { _, _ = conn.Exec("REVOKE ALL PRIVILEGES, GRANT OPTION FROM poor@'%'") })
	poor := catalogtest.As(t, db, "poor", "poor").Connect(t)
	_, err := autoinc.NewPlan(t.Context(), poor, autoinc.PlanOptions{})
	if !errors.Is(err, autoinc.ErrRefused) || !strings.Contains(err.Error(), "`.`u`.`t`: the user lacks DELETE, REFERENCES") || !strings.Contains(err.Error(), "`.`t`.`id`: the user lacks DELETE on") {
		t.Errorf("got %v", err)
	}
	dbtest.Exec(t, conn, "GRANT DELETE ON `"+schema+"`.* TO poor@'%'", "GRANT REFERENCES ON `"+schema+"`.u TO poor@'%'")
	if _, err := autoinc.NewPlan(t.Context(), poor, autoinc.PlanOptions{}); err != nil && !strings.Contains(err.Error(), "lacks SUPER") {
		t.Error(err)
	}
}

// There must not be a plan if the owner can't see all rows.
func TestForcedRowSecurity(t *testing.T) {
	t.Parallel()
	conn := owner(t).Connect(t)
	dbtest.Exec(t, conn, "CREATE TABLE t (id serial PRIMARY KEY)", "ALTER TABLE t ENABLE ROW LEVEL SECURITY", "ALTER TABLE t FORCE ROW LEVEL SECURITY")
	_, err := autoinc.NewPlan(t.Context(), conn, autoinc.PlanOptions{})
	if !errors.Is(err, autoinc.ErrRefused) || !strings.Contains(err.Error(), "FORCE ROW LEVEL SECURITY, which hides rows from owner_") {
		t.Errorf("got %v", err)
	}
}

// If there already is a table with the name that Apply uses for its own, Apply must not
// touch it, and has to report it.
func TestForeignProgressTable(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db dbtest.DB) {
		s := newShop(t, db)
		p := plan(t, s.conn, autoinc.PlanOptions{})
		dbtest.Exec(t, s.conn, "CREATE TABLE snowkey_migration (version int)")
		before := s.whole(t)
		if _, err := autoinc.Apply(t.Context(), s.conn, p, autoinc.ApplyOptions{}); !errors.Is(err, autoinc.ErrPlan) || !strings.Contains(err.Error(), "rename it") {
			t.Errorf("got %v", err)
		}
		require(t, "the state", s.whole(t), before)
	})
}

// A search index that refers to rows by key must continue to find them, with nothing
// but its usual triggers.
func TestFullTextSearch(t *testing.T) {
	t.Parallel()
	db := dbtest.SQLite(t)
	conn := db.Connect(t)
	dbtest.Exec(t, conn,
		"CREATE TABLE note (id INTEGER PRIMARY KEY, body)",
		"CREATE VIRTUAL TABLE found USING fts5(body, content='note', content_rowid='id')",
		"CREATE TRIGGER note_ai AFTER INSERT ON note BEGIN INSERT INTO found(rowid, body) VALUES (NEW.id, NEW.body); END",
		"CREATE TRIGGER note_ad AFTER DELETE ON note BEGIN INSERT INTO found(found, rowid, body) VALUES ('delete', OLD.id, OLD.body); END",
		"INSERT INTO note (id, body) VALUES (7, 'first snow'), (9, 'second')", "DELETE FROM note WHERE id = 9", "INSERT INTO note VALUES (20, 'last snow')")
	applyAll(t, conn, plan(t, conn, autoinc.PlanOptions{}), autoinc.ApplyOptions{})
	dbtest.Exec(t, conn, "INSERT INTO note VALUES (7350000000000000001, 'more snow')", "DELETE FROM note WHERE id = 20")
	found := dbtest.Rows(t, conn, "SELECT body FROM found WHERE found MATCH 'snow' ORDER BY rowid")
	require(t, "what is found", strings.Join(found, "; "), "first snow; more snow")
	dbtest.Exec(t, conn, "INSERT INTO found(found) VALUES ('integrity-check')")
}

// The settings of the application's sessions must not make a difference: each record is
// committed, and foreign keys are checked.
func TestSessionSettings(t *testing.T) {
	t.Parallel()
	db, _ := one(t, "mysql")
	config := dbtest.Must(mysql.ParseDSN(db.DSN))(t)
	config.Params = map[string]string{"autocommit": "0", "completion_type": "'CHAIN'", "foreign_key_checks": "0", "sql_mode": "''"}
	s := newShop(t, db)
	p := plan(t, s.conn, autoinc.PlanOptions{})
	db.DSN = config.FormatDSN()
	hostile := db.Connect(t)
	applyAll(t, hostile, p, autoinc.ApplyOptions{})
	if v := verify(t, s.conn, p); v.Err() != nil || strings.Contains(verdicts(t, v), "not counted before") {
		t.Errorf("not proven:\n%s", verdicts(t, v))
	}
	dbtest.NoError(t, autoinc.Undo(t.Context(), hostile, p, autoinc.ApplyOptions{}))
	requireNumber(t, s.conn, 0, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'snowkey_migration'")
}
