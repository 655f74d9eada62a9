// Package etcdstore keeps leases in etcd, for processes that have an etcd cluster but no
// database in common.
//
//	client, err := clientv3.New(clientv3.Config{
//		Endpoints: endpoints, DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 3 * time.Second,
//	})
//	...
//	ids, err := snowkey.Open(ctx, etcdstore.New(client), snowkey.Config{})
//
// The page docs/stores.md explains the set-up, the permissions, and how to restore a
// snapshot.
//
// # Keys
//
// All keys start with the prefix, and with the name of the namespace. Names are escaped
// as in the path of a URL.
//
//	snowkey/orders/layouts                                 the layouts with their fences
//	snowkey/orders/rows/41%2F10%2F12/0000000000000000007   row of worker 7
//	snowkey/orders/time                                    agreed time, in microseconds
//	snowkey/orders/alive                                   exists while a process vouches for the agreed time
//
// Each call reads keys in one transaction. If it changes something, it writes in a second
// transaction, whose conditions are that the keys still have the values that were read.
// It compares values rather than revisions, because after a snapshot was restored, etcd
// gives the same revisions to other values.
//
// # The agreed time
//
// A transaction of etcd can't read a clock, and the clocks of the members are not visible
// to clients. The clock of one host must not take their place, because a host's clock can
// be wrong. So the processes of a namespace agree on a time:
//
//   - Each grant raises the key time to the time that it used, in the same transaction. So
//     no bound was ever granted above the cap at the agreed time, and a row that is added
//     starts above that cap, since no process had the row after that time was read. This
//     involves no clock at all.
//   - Once a process knows the agreed time, it continues with its monotonic clock, and
//     with the key time if that is later. If its host's clock gains more than MaxClockSkew
//     on that, the machine was asleep, or the clock has jumped ahead. Then the process has
//     to learn the agreed time again, as one that starts.
//   - A process vouches for the agreed time while its host's clock differs from it by no
//     more than MaxClockSkew. With each claim and renewal, it attaches the key alive to an
//     etcd lease. The leader of etcd counts down that lease, and a new leader starts again
//     from its full length. So the key never vanishes early.
//   - A process that starts while the key alive exists compares its host's clock with the
//     agreed time when the etcd lease was granted, plus the time that etcd has counted since.
//     If they differ by more than MaxClockSkew, it waits until other processes write, or until
//     the key has vanished. If the times that they write differ too, the process is refused
//     with a [lease.ClockSkewError].
//   - If the key alive does not exist, all leases have expired, and no running process has a
//     clock that agrees. Then the next process uses its own clock, but never a time before the
//     key time.
//
// So one wrong clock can't push the agreed time ahead while processes with right clocks
// run. The first process of a namespace is not checked by any other, as a database server's
// clock isn't. The agreed time follows the fastest monotonic clock. Run NTP on each host:
// a clock without it gains up to a few seconds a day.
//
// # Lost commits
//
// If no commit is lost, ids are unique even if all clocks are wrong. When etcd answers a
// commit, it is on the disks of most members, so a failover loses nothing. But a cluster
// that an operator restores lacks what came after the snapshot. Its cluster id is often
// the same as before, because etcd calculates it from the members' peer URLs and
// --initial-cluster-token. The option --force-new-cluster keeps the id too.
//
// The store therefore reports that it may lose commits, and each claim holds off. The
// lease starts above everything that can have been granted. Its first id can be issued
// after MaxClockSkew. Layouts with ticks longer than a second are refused.
//
// This is safe if the clocks of all hosts differ by at most MaxClockSkew. The reason is
// that a process never uses a time before its host's clock at its start, nor a time more
// than MaxClockSkew after the latest of all hosts' clocks. A claim starts above the cap at
// the agreed time when etcd has answered, since it may have waited after it read that time.
// While processes run, a host whose clock is wrong is
// refused. So what remains to be assumed is that the clocks are right of the hosts whose
// processes start after a loss, before any other process writes.
//
// The cluster id is the fingerprint nevertheless. If it changes, all leases end, and the
// next claim raises the fence. [WithoutHoldOff] relies on it alone.
//
// # Requests
//
// If a member hangs, the client does not notice for a while. So a request without a reply
// is sent again, to the next member, as long as the context allows. A write that was sent
// again counts as unanswered unless its conditions still hold.
//
// A renewal takes two requests, of which one writes up to three keys. An etcd lease is
// requested about every one and a half Windows in addition. A probe reads the rows of all worker
// numbers that may be leased, which are about 200 bytes each. Rows are added 100 at a
// time, because etcd allows 128 operations in a transaction.
package etcdstore
