// Package etcdstore keeps leases in etcd, for processes that share an etcd cluster but no
// database.
//
//	client, err := clientv3.New(clientv3.Config{
//		Endpoints: endpoints, DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 3 * time.Second,
//	})
//	...
//	ids, err := snowkey.Open(ctx, etcdstore.New(client), snowkey.Config{})
//
// See docs/stores.md for setup, permissions, and how to restore a snapshot.
//
// # Keys
//
// All keys start with the prefix and the name of the namespace. Names are escaped the way
// they'd be in a URL path.
//
//	snowkey/orders/layouts                                 the layouts with their fences
//	snowkey/orders/rows/41%2F10%2F12/0000000000000000007   row of worker 7
//	snowkey/orders/time                                    agreed time, in microseconds
//	snowkey/orders/alive                                   exists while a process vouches for the agreed time
//
// Each call reads keys in one transaction and, if there's something to change, writes in
// a second one that only commits if none of the values it read have changed. It compares
// values instead of revisions because restoring a snapshot can cause revision numbers to
// be reused.
//
// # The agreed time
//
// An etcd transaction can't read a clock, and clients have no way to see the members'
// clocks. The clock of a single host is no substitute, since it could be wrong. Instead,
// a namespace's processes agree on a time:
//
//   - Each grant raises the key time to the time it used, in the same transaction. This
//     means no bound was ever granted above the cap at the agreed time, and added rows
//     can start above that cap, as no process had the row after that time was read. None
//     of this depends on a clock.
//   - Once it knows the agreed time, a process carries on with its monotonic clock, or
//     with the key time whenever that's later. If the host's clock gains more than
//     MaxClockSkew on this, either the machine was asleep or its clock has jumped ahead.
//     The process then has to learn the agreed time again, as if it had just started.
//   - As long as its host's clock is within MaxClockSkew of the agreed time, a process
//     vouches for it: each claim and renewal attaches the key alive to an etcd lease. The
//     leader of etcd counts down that lease, and a new leader starts over with the full
//     duration, so the key won't vanish early.
//   - A process starting while the key alive exists takes the agreed time from when the
//     etcd lease was granted, adds the time etcd has counted since, and compares the sum
//     with its host's clock. If the difference is more than MaxClockSkew, it waits until
//     other processes write or the key has vanished. When the times they write turn out
//     to differ too, the process is refused with a [lease.ClockSkewError].
//   - If there's no key alive, all leases have expired, and no running process has a
//     clock that agrees. The next process then uses its own clock, though never a time
//     before the key time.
//
// This keeps one wrong clock from pushing the agreed time ahead while processes with
// correct clocks are running. A namespace's first process isn't checked by anything (but
// then, neither is the clock of a database server). The agreed time follows the fastest
// monotonic clock, so you should run NTP on every host (without it, a clock gains up to a
// few seconds a day).
//
// # Lost commits
//
// As long as commits aren't lost, ids are unique even if every clock is wrong. A commit
// is on most members' disks by the time etcd answers, so failovers don't lose anything. A
// cluster restored by an operator, on the other hand, is missing everything after the
// snapshot, and its cluster id often stays the same: etcd derives it from the members'
// peer URLs and --initial-cluster-token. The option --force-new-cluster keeps it as well.
//
// That's why the store reports that it may lose commits, and each claim holds off. The
// lease starts above anything that could have been granted, and its first id can be
// issued after MaxClockSkew. Layouts with ticks longer than a second are refused.
//
// This is safe if all hosts' clocks are within MaxClockSkew of each other. A process
// never uses a time before its host's clock at startup, nor one more than MaxClockSkew
// after the latest clock of any host. Claims start above the cap at the agreed time when
// etcd has answered, in case they were delayed after reading that time. While processes
// are running, a host with a wrong clock is refused. The one remaining assumption is
// about hosts whose processes start after a loss, before any other process writes: their
// clocks have to be right.
//
// The cluster id still serves as the fingerprint. If it changes, all leases end, and the
// next claim raises the fence. With [WithoutHoldOff], the cluster id is all there is.
//
// # Requests
//
// The client can take a while to notice a hung member, so unanswered requests are retried
// against the next member until the context ends. A retried write whose conditions no
// longer hold counts as unanswered.
//
// A renewal takes two requests, one of them writing up to three keys. On top of that, an
// etcd lease is requested about every one and a half Windows. A probe reads the rows
// (about 200 bytes each) of all worker numbers that may be leased. Rows are added 100 at
// a time to stay below etcd's limit of 128 operations per transaction.
package etcdstore
