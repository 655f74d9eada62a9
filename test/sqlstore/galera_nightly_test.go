//go:build nightly

package sqlstore_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest/cluster"
)

// onCluster runs the suite on a cluster, with connections that are spread over its
// members and replaced every two seconds. A role may read the cluster's view only with
// the grant of the page that names the given table. Without it, the store can't tell
// whether commits were lost.
func onCluster(t *testing.T, members []*cluster.Member, table, wait string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/clusters.md")
	if err != nil {
		t.Fatal(err)
	}
	grant := regexp.MustCompile("(?m)^GRANT SELECT ON " + regexp.QuoteMeta(table) + " TO [^;]*").FindString(string(page))
	if grant == "" {
		t.Fatalf("docs/clusters.md has no grant for %s", table)
	}
	db, _ := cluster.Balanced(t, members)
	conn := db.Connect(t)
	conn.SetMaxIdleConns(64)
	conn.SetConnMaxLifetime(2 * time.Second)
	suite(t, db, conn)

	t.Run("privileges", func(t *testing.T) {
		store := open(t, db, conn, "granted")
		if err := store.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		exec(t, conn, "CREATE USER app@'%' IDENTIFIED BY 'secret'")
		for _, grant := range store.Grants("app") {
			exec(t, conn, grant)
		}
		as := strings.NewReplacer("root@", "app:secret@")
		each := func(check func(*testing.T, *operated)) {
			for i, m := range members {
				t.Run(fmt.Sprint("member ", i+1), func(t *testing.T) {
					exec(t, m.Connect(t), wait) // for the privileges
					db := m.DB
					db.DSN = as.Replace(db.DSN)
					check(t, open(t, db, db.Connect(t), "granted"))
				})
			}
		}
		each(func(t *testing.T, store *operated) {
			if !everything(t, store, "without the grant") {
				t.Error("the store reads the view without a privilege")
			}
		})
		exec(t, conn, grant)
		fingerprints := make(map[string]bool)
		each(func(t *testing.T, store *operated) {
			if everything(t, store, "with the grant") {
				t.Error("with the privilege, the store can't tell whether commits were lost")
			}
			if _, err := store.CreateNamespace(t.Context(), terms, 0); err != nil {
				t.Error(err)
			}
			fingerprints[probe(t, store).Current] = true
		})
		if len(fingerprints) != 1 {
			t.Errorf("the members have the fingerprints %v", fingerprints)
		}
	})
}

func TestNightlyGalera(t *testing.T) {
	onCluster(t, cluster.Galera(t, 3), "mysql.wsrep_cluster", "SET STATEMENT wsrep_sync_wait = 1 FOR SELECT 1 FROM mysql.user")
}
