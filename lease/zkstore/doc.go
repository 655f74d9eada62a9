// Package zkstore keeps leases in ZooKeeper, for applications that already run an
// ensemble.
//
//	conn, _, err := zk.Connect([]string{"zk1:2181", "zk2:2181", "zk3:2181"}, 10*time.Second,
//		zk.WithDialer(zkstore.Dialer(5*time.Second)))
//	...
//	ids, err := snowkey.Open(ctx, zkstore.New(conn), snowkey.Config{})
//
// Open creates the nodes that are missing. docs/stores.md has the set-up, what an
// election can lose, and how to restore a backup.
//
// # Nodes
//
//	/snowkey/version                                 the protocol version
//	/snowkey/clock                                   empty; written to learn the leader's time
//	/snowkey/eras                                    the name of the current era
//	/snowkey/eras/ERA                                empty; exists as long as the era lasts
//	/snowkey/namespaces/NAMESPACE                    the position of the next layout
//	/snowkey/namespaces/NAMESPACE/LAYOUT             the fence and the fingerprint, as JSON
//	/snowkey/namespaces/NAMESPACE/LAYOUT/released    empty; written with each release
//	/snowkey/namespaces/NAMESPACE/LAYOUT/7           the row of worker number 7, as JSON
//
// Names are escaped like the segments of a URL. There are no ephemeral nodes: a lease
// ends when it is released or expires, not when a session ends, so a short loss of the
// connection costs nothing. There are no watches either.
//
// # Time
//
// A ZooKeeper transaction can't read a clock, so it can't check whether a lease has
// expired. However, each write is stamped with the leader's time, which readers get as
// the Mtime of the node. Therefore a write contains the row as its sender has read it,
// and the request: claim, renew or release, with the token, the bound that is wanted and
// the [lease.Terms]. Each reader applies the request to the row, at the time at which the
// leader executed the write. A renewal that was executed after the lease had expired, for
// example, changes nothing for any reader. All readers get the same result, because the
// content and the Mtime of a node change only together. The sender gets the Mtime with
// the reply, so an update is one transaction.
//
// The Mtime is in milliseconds. MaxClockSkew is rounded up to milliseconds.
//
// # Conditions
//
// Each write has the version of the node as a condition. The version alone is not
// enough, though, because versions repeat when commits are lost or when a node is deleted
// and created again. So:
//
//   - Each write checks that the node of the current era exists. The name of an era is
//     random. A process that finds that another leader was elected since the era began,
//     begins the next one. If the commits that a process has read are lost, the era that
//     it knows is lost too, or there is a later leader.
//   - A write contains the epoch of its era, which is a part of each ZooKeeper
//     transaction id. Readers ignore the request if the write was executed in another
//     epoch, and the sender sends it again in the next era.
//   - A write contains the Czxid of the node that was read. If the node has another one,
//     it was deleted and created again, or copied. In that case the row is treated as if
//     it had been added at the time of the write.
//   - A claim also checks the version of the layout's node, which has the fence.
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
// [*lease.PermanentError]. A node with an unknown content gives a [*NodeError], and
// nothing is written.
package zkstore
