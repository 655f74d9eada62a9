// Package zkstore keeps leases in ZooKeeper, for applications that already run an
// ensemble.
//
//	conn, _, err := zk.Connect([]string{"zk1:2181", "zk2:2181", "zk3:2181"}, 10*time.Second,
//		zk.WithDialer(zkstore.Dialer(5*time.Second)))
//	...
//	ids, err := snowkey.Open(ctx, zkstore.New(conn), snowkey.Config{})
//
// Open creates the nodes that are missing. docs/stores.md has the set-up, what an
// election can lose, and how to restore a backup. Each process needs a connection, and
// ZooKeeper allows 60 from one address (maxClientCnxns).
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
// Names are escaped like the segments of a URL. There are no ephemeral nodes: a lease
// ends when it is released or expires, not when a session ends, so a short loss of the
// connection costs nothing. There are no watches either.
//
// # Time
//
// A ZooKeeper transaction can't read a clock. However, each write is stamped with the
// leader's time. So each call begins with a write to /snowkey/clock, whose reply has the
// leader's time, then reads, and then writes what package kvlease has computed. The time
// is in milliseconds. MaxClockSkew is rounded up to milliseconds.
//
// # Conditions
//
// Each write has the versions of the nodes as conditions. These alone are not enough,
// though, because versions repeat when commits are lost or when a node is deleted and
// created again. So:
//
//   - Each write checks that the node of the current era exists. The name of an era is
//     random. A process that finds that another leader was elected since the era began,
//     begins the next one. If the commits that a process has read are lost, the era that
//     it knows is lost too, or there is a later leader.
//   - A write contains the epoch of its era, which is a part of each ZooKeeper
//     transaction id, and the text that was read. If it was executed in another epoch,
//     readers use that text, and the sender tries again in the next era.
//   - A write contains the Czxid of the node that was read. If the node has another one,
//     it was deleted and created again, or copied. Readers then treat the row as missing,
//     so it is added again, above everything that it can have granted.
//
// lease/model has these rules, and variants that lack one of them and repeat ids.
//
// # Lost commits
//
// The era is the fingerprint. Commits can be lost only if another leader is elected, and
// then there is another era: the first claim of each layout raises the fence. Leases that
// are held are renewed as before.
//
// A standalone server has no elections. Its leases hold off instead; see
// [lease.Probe].Volatile. To avoid that, let it run as an ensemble of one server.
//
// # Errors
//
// If ZooKeeper refuses a call for lack of permissions, the error is a
// [*lease.PermanentError]. So it is if a node has an unknown content. Nothing is written
// then.
package zkstore
