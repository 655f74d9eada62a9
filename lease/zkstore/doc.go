// Package zkstore keeps leases in ZooKeeper, for applications that already run an
// ensemble.
//
//	conn, _, err := zk.Connect([]string{"zk1:2181", "zk2:2181", "zk3:2181"}, 10*time.Second,
//		zk.WithDialer(zkstore.Dialer(5*time.Second)))
//	...
//	ids, err := snowkey.Open(ctx, zkstore.New(conn), snowkey.Config{})
//
// Open creates any missing nodes. For setup, what an election can lose, and restoring
// backups, see docs/stores.md. Every process needs a connection of its own. Note that
// ZooKeeper allows 60 connections per address by default (maxClientCnxns).
//
// # Nodes
//
//	/snowkey/clock                             empty; written to learn the leader's time
//	/snowkey/eras                              the name of the current era
//	/snowkey/eras/ERA                          empty; exists as long as the era lasts
//	/snowkey/namespaces/NAMESPACE              the layouts with their fences
//	/snowkey/namespaces/NAMESPACE/LAYOUT       empty
//	/snowkey/namespaces/NAMESPACE/LAYOUT/7     the row of worker number 7
//
// Names are escaped like the segments of a URL. There are no ephemeral nodes: leases end
// when they're released or expire rather than with a session, so briefly losing the
// connection does no harm. There are no watches either.
//
// # Time
//
// ZooKeeper transactions can't read a clock, but each write is stamped with the leader's
// time. A call begins with a write to /snowkey/clock, just to get the leader's time from
// the reply. It then reads, and writes what package kvlease has computed. Times are in
// milliseconds, and MaxClockSkew is rounded up accordingly.
//
// # Conditions
//
// Every write is conditional on node versions. That wouldn't be enough by itself, since
// versions repeat when commits are lost or when a node is deleted and created again.
// These rules cover the rest:
//
//   - Each write checks that the node of the current era exists. Eras have random names.
//     When a process notices that another leader has been elected since the era began, it
//     begins the next one. Should the commits a process has read be lost, the era it
//     knows is lost with them, or there's a later leader.
//   - A write contains the epoch of its era (a part of every ZooKeeper transaction id)
//     and the text that was read. If it gets executed in a different epoch, readers go by
//     that text, and the sender tries again in the next era.
//   - A write contains the Czxid of the node that was read. A different Czxid means that
//     the node was copied, or deleted and created again. Readers treat its row as
//     missing, and it's added again above anything it could have granted.
//
// You'll find these rules in lease/model, along with variants that leave one out and
// repeat ids.
//
// # Lost commits
//
// The era is the fingerprint. Losing commits takes the election of another leader, and
// that starts another era, so the first claim for each layout raises the fence. Existing
// leases are renewed as usual.
//
// A standalone server has no elections, and its leases hold off instead (see
// [lease.Probe].Volatile). Run it as an ensemble of one server if you want to avoid that.
//
// # Errors
//
// You'll get a [*lease.PermanentError] when ZooKeeper refuses a call for lack of
// permissions, or when a node has unknown content. Nothing is written in either case.
package zkstore
