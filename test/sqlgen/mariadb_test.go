package sqlgen

import (
	"fmt"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
	"github.com/snowkey-go/snowkey/schema/sqlgen"
)

// mariaDB returns a database of MariaDB.
func mariaDB(t *testing.T) dbtest.DB {
	t.Helper()
	db := dbtest.MySQL(t)
	if !db.MariaDB {
		t.Skipf("%s is not MariaDB", db.Version)
	}
	return db
}

// onMariaDB is without on MariaDB.
func onMariaDB(t *testing.T, w sqlgen.Writer, edits ...string) []string {
	t.Helper()
	statements, err := w.MariaDB()
	if err != nil {
		t.Fatal(err)
	}
	return edited(t, statements, edits...)
}

// TestMariaDBSessions makes ids in many sessions and in a process at the same time.
func TestMariaDBSessions(t *testing.T) {
	t.Parallel()
	manySessions(t, mariaDB(t).Connect(t), onMariaDB, "BIGINT NOT NULL DEFAULT 0", "SELECT seq FROM seq_1_to_300", 10, 15000)
}

// TestMariaDBLayouts parses ids of every preset that SQL can make.
func TestMariaDBLayouts(t *testing.T) {
	t.Parallel()
	db := mariaDB(t).Connect(t)
	for i, layout := range layouts(t) {
		t.Run(layout.String(), func(t *testing.T) {
			t.Parallel()
			run(t, db, onMariaDB(t, sqlgen.Writer{Layout: layout, Namespace: fmt.Sprint("n", i), Name: fmt.Sprint("next", i), Worker: 5, MaxClockSkew: 50 * time.Millisecond})...)
			before := time.Now()
			ids := query(t, session(t, db), fmt.Sprintf("SELECT next%d() FROM seq_1_to_1000", i))
			inLayout(t, layout, ids, before)
			if len(ids) != 1000 {
				t.Errorf("%d ids, want 1000", len(ids))
			}
		})
	}
}

// TestMariaDBFence raises the fence. The next session begins above it, though the counter
// was below.
func TestMariaDBFence(t *testing.T) {
	t.Parallel()
	t.Run("", func(t *testing.T) { fenceMariaDB(t, true) })
	t.Run("not read", func(t *testing.T) {
		fenceMariaDB(t, false, "GREATEST(l.bound, COALESCE((", "GREATEST(l.bound, 0 * COALESCE((")
	})
}

func fenceMariaDB(t *testing.T, want bool, edits ...string) {
	t.Parallel()
	db := mariaDB(t).Connect(t)
	run(t, db, onMariaDB(t, sqlgen.Writer{}, edits...)...)
	checkFence(t, db, sqlstore.MySQL(db), 0, want)
}
