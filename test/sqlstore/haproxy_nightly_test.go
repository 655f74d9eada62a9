//go:build nightly

package sqlstore_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dbtest/cluster"
	"github.com/snowkey-go/snowkey/lease"
)

// A primary is killed before its standby has received the last commits. HAProxy finds the
// new primary by itself.
func TestNightlyHAProxyFailover(t *testing.T) {
	primary, process := dbtest.Killable(t, "postgres")
	standby := dbtest.StandbyOf(t, primary)
	balanced := cluster.HAProxy(t, primary, standby.DB)
	var fleets []*fleet
	for i, broken := range []func(*operated) lease.Store{nil, withoutFence} {
		c := &fleet{T: t, db: balanced, table: []string{"lease", "unfenced"}[i], broken: broken, window: time.Second}
		c.start()
		fleets = append(fleets, c)
	}
	failOver(t, process, standby, func() {
		for _, c := range fleets {
			c.renewals()
		}
	})
	conn, err := sql.Open(balanced.Driver, balanced.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	await(t, "HAProxy to find the new primary", func() bool { return conn.PingContext(t.Context()) == nil })
	for _, c := range fleets {
		before := time.Now()
		c.goOn(balanced)
		t.Logf("a grant after %v", time.Since(before).Round(time.Millisecond))
		t.Run(c.variant(), c.verdict)
	}
}

// TestNightlyHAProxy runs the suite through a load balancer.
func TestNightlyHAProxy(t *testing.T) {
	for _, dialect := range dbtest.Databases(t) {
		if dialect == "sqlite" {
			continue
		}
		t.Run(dialect, func(t *testing.T) {
			db := cluster.HAProxy(t, dbtest.Open(t, dialect))
			conn := db.Connect(t)
			conn.SetMaxIdleConns(64)
			suite(t, db, conn)
		})
	}
}
