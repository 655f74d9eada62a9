//go:build nightly

package sqlgen

import (
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest/cluster"
	"github.com/snowkey-go/snowkey/schema/sqlgen"
)

// TestNightlyMySQLGroup runs the SQL on a member of a group with several primaries, which
// refuses it.
func TestNightlyMySQLGroup(t *testing.T) {
	t.Parallel()
	mySQL(t)
	db := cluster.GroupReplication(t, 1)[0].DB.Connect(t)
	err := refused(t, db, onMySQL(t, sqlgen.Writer{}))
	if err == nil || !strings.Contains(err.Error(), "multi-primary") {
		t.Errorf("on a group: %v", err)
	}
}

// TestNightlyMariaDBGalera runs the SQL on a member of a cluster, which refuses it.
func TestNightlyMariaDBGalera(t *testing.T) {
	t.Parallel()
	mariaDB(t)
	db := cluster.Galera(t, 1)[0].DB.Connect(t)
	err := refused(t, db, onMariaDB(t, quick))
	if err == nil || !strings.Contains(err.Error(), "not safe on Galera") {
		t.Errorf("got %v", err)
	}
	if rows := count(t, db, "count(*) FROM snowkey_lease"); rows > 0 {
		t.Errorf("%d rows were left", rows)
	}
}
