package autoinc_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/autoinc"
)

// AUTOINCREMENT of SQLite never gives a number again. After an undo, each table counts from
// where it stood, even if its last rows were deleted.
func TestUndoKeepsCounters(t *testing.T) {
	t.Parallel()
	s := shop{DB: dbtest.SQLite(t)}
	s.conn = s.Connect(t)
	dbtest.Exec(t, s.conn, "CREATE TABLE a (id INTEGER PRIMARY KEY AUTOINCREMENT)", "CREATE TABLE b (id INTEGER PRIMARY KEY AUTOINCREMENT)",
		"INSERT INTO a VALUES (1), (77)", "INSERT INTO b VALUES (1), (5)", "DELETE FROM a WHERE id > 1", "DELETE FROM b WHERE id > 1")
	const counters = "SELECT name || seq FROM sqlite_sequence ORDER BY name"
	for _, options := range []autoinc.PlanOptions{{}, {Rekey: &autoinc.RekeyOptions{From: historyFrom, To: historyTo}}} {
		p := plan(t, s.conn, options)
		applyAllIDs(t, s, p)
		dbtest.NoError(t, autoinc.Undo(t.Context(), s.conn, p, autoinc.ApplyOptions{}))
		require(t, "the counters", s.lines(t, counters), "a77\nb5\n")
	}
}
