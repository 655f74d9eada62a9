//go:build nightly

package sqlstore_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/test/internal/cluster"
)

// onCluster runs the suite on a cluster, with connections that are spread over its
// members and replaced every two seconds. A role may read the cluster's view only with
// the grant of the page that names the given table. Without it, the store can't tell
// whether commits were lost.
func onCluster(t *testing.T, members []*cluster.Member, table, wait string) {
	t.Helper()
	page := dbtest.Must(os.ReadFile("../../docs/stores.md"))(t)
	grant := regexp.MustCompile("(?m)^GRANT SELECT ON " + regexp.QuoteMeta(table) + " TO [^;]*").FindString(string(page))
	if grant == "" {
		t.Fatalf("docs/stores.md has no grant for %s", table)
	}
	db, _ := cluster.Balanced(t, members)
	conn := db.Connect(t)
	conn.SetMaxIdleConns(64)
	conn.SetConnMaxLifetime(2 * time.Second)
	suite(t, db, conn)

	t.Run("privileges", func(t *testing.T) {
		store := open(t, db, conn, "granted")
		dbtest.NoError(t, store.Migrate(t.Context()))
		dbtest.Exec(t, conn, "CREATE USER app@'%' IDENTIFIED BY 'secret'")
		for _, grant := range store.Grants("app") {
			dbtest.Exec(t, conn, grant)
		}
		as := strings.NewReplacer("root@", "app:secret@")
		each := func(check func(*testing.T, *operated)) {
			for i, m := range members {
				t.Run(fmt.Sprint("member ", i+1), func(t *testing.T) {
					dbtest.Exec(t, m.Connect(t), wait) // for the privileges
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
		dbtest.Exec(t, conn, grant)
		fingerprints := make(map[string]bool)
		each(func(t *testing.T, store *operated) {
			if everything(t, store, "with the grant") {
				t.Error("with the privilege, the store can't tell whether commits were lost")
			}
			dbtest.Must(store.CreateNamespace(t.Context(), terms, 0))(t)
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

func TestNightlyGroupReplication(t *testing.T) {
	members := cluster.GroupReplication(t, 3)
	onCluster(t, members, "performance_schema.replication_group_member_stats", "SELECT SLEEP(1)")

	// A member that has left the group still answers, with old rows.
	t.Run("a member has left", func(t *testing.T) {
		db, _ := cluster.Balanced(t, members)
		conn := db.Connect(t)
		conn.SetMaxIdleConns(-1) // each statement on the next member
		store := open(t, db, conn, "left")
		held := claimed(t, store)
		left := members[2].Connect(t)
		dbtest.Exec(t, left, "STOP GROUP_REPLICATION")
		for i := range int64(30) {
			renewed, ok, err := store.Renew(t.Context(), lease.Renewal{Terms: terms, Held: held, Token: fmt.Sprint("renewal ", i), Wanted: 1 << 62, Volatile: true})
			if !ok || err != nil {
				t.Fatalf("renewal %d: %t, %v", i, ok, err)
			}
			held = renewed
			if row := only(t, store); row.Token != held.Token {
				t.Fatalf("renewal %d: the row is %v", i, row)
			}
		}
		var token string
		if err := left.QueryRow("SELECT token FROM `left`").Scan(&token); err != nil || token == held.Token {
			t.Errorf("the member that left has the token %q, %v, so this test proves nothing", token, err)
		}
	})
}

// TestNightlyForcedBootstrap loses commits of a cluster. A member misses them because it was
// killed or partitioned, all others are killed, and the operator continues from this member.
// Roles that may read the cluster's view are protected by the fence, and other roles by the
// hold-off.
func TestNightlyForcedBootstrap(t *testing.T) {
	for name, c := range map[string]struct {
		start        func(dbtest.TB, int) []*cluster.Member
		leave, force func(*cluster.Member) error
	}{
		"galera":              {cluster.Galera, (*cluster.Member).Kill, (*cluster.Member).Bootstrap},
		"galera, partitioned": {cluster.Galera, (*cluster.Member).Isolate, (*cluster.Member).Force},
		"group replication":   {cluster.GroupReplication, (*cluster.Member).Kill, (*cluster.Member).Bootstrap},
	} {
		t.Run(name, func(t *testing.T) {
			members := c.start(t, 3)
			root, stale := members[0].DB, members[2]
			conn := root.Connect(t)
			dbtest.Exec(t, conn, "CREATE USER app@localhost", "GRANT SELECT, INSERT, UPDATE, CREATE ON "+dbtest.Rows(t, conn, "SELECT DATABASE()")[0]+".* TO app@localhost")
			as := func(user string, db dbtest.DB) dbtest.DB {
				db.DSN = strings.Replace(db.DSN, "root@", user, 1)
				return db
			}
			lose(t, append(lostWrites("root@"), scene{name: "a claim that holds off", user: "app@", without: withoutHoldOff,
				before: (*fleet).startAndClose, lost: func(c *fleet) { c.start(); c.renewals() }}),
				func(user string) dbtest.DB { return as(user, root) }, func(user string) dbtest.DB { return as(user, stale.DB) },
				func() error {
					time.Sleep(time.Second) // until it has everything that happened before
					return c.leave(stale)
				}, func() error { return errors.Join(members[0].Kill(), members[1].Kill(), c.force(stale)) })
		})
	}
}
