// Package redisstore keeps leases of worker numbers in Redis or Valkey.
//
//	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
//	pool, err := snowkey.Open(ctx, redisstore.New(client), snowkey.Config{Namespace: "orders"})
//
// A Redis Cluster and a client of Redis Sentinel work too. See docs/stores.md for what a
// server can lose, what the hold-off costs, and how to operate it.
//
// # Stored data
//
// A namespace has a hash with the name snowkey:NAMESPACE. Its fields are texts of JSON:
//
//	namespace        the layouts with their fences
//	41/10/12/7       the row of worker number 7 of the layout 41/10/12
//
// A script reads them together with the server's TIME. Package kvlease applies the rules,
// and another script writes the new texts if the old ones are unchanged.
//
// # Lost commits
//
// Any Redis may lose commits that it has acknowledged: with appendfsync everysec in a
// crash, and with any setting in a failover, because replication is asynchronous. WAIT
// does not change that. Redis has no identity that changes whenever this happens. So the
// store always reports that it is volatile ([lease.Probe].Volatile), and each lease holds
// off: a claim grants no ids, and the first renewal does. The store reports this also for a
// server with appendfsync always and no replicas, because the server can't prove that it
// has none, and a snapshot can be restored without a trace. The model in lease/model covers
// the hold-off.
//
// Layouts with ticks longer than a second can't hold off, so they are refused with a
// [lease.PermanentError].
//
// # Requests that are sent again
//
// The client may send a script again when it gets no reply. If the first request was
// executed, the second one finds that all fields have their new values, which contain a
// random token. It then writes them once more and gets the answer of the first one. So a
// retry neither loses a lease nor grants more.
package redisstore
