// Package redisstore keeps worker number leases in Redis or Valkey.
//
//	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
//	pool, err := snowkey.Open(ctx, redisstore.New(client), snowkey.Config{Namespace: "orders"})
//
// Redis Cluster works too, and so does a Redis Sentinel client. See docs/stores.md for
// what a server can lose, what the hold-off costs, and how to operate it all.
//
// # Stored data
//
// Each namespace is a hash named snowkey:NAMESPACE, with JSON in its fields:
//
//	namespace        the layouts with their fences
//	41/10/12/7       the row of worker number 7 of the layout 41/10/12
//
// One script reads them along with the server's TIME, then package kvlease applies the
// rules, and a second script writes the new texts provided the old ones haven't changed.
//
// # Lost commits
//
// There's no setup in which Redis can't lose acknowledged commits. With appendfsync
// everysec a crash is enough. Failing over can lose some with any setting, because
// replication is asynchronous (WAIT doesn't change that). There's no identity that would
// reliably change along with such a loss, so the store always reports itself as volatile
// ([lease.Probe].Volatile) and each lease holds off: it's the first renewal that grants
// ids, not the claim. This includes a server with appendfsync always and no replicas. It
// can't prove that it has none, and a snapshot can be restored without leaving a trace.
// The hold-off is covered by the model in lease/model.
//
// Layouts with ticks longer than a second can't hold off and are refused with a
// [lease.PermanentError].
//
// # Requests that are sent again
//
// The client may resend a script after getting no reply. If the first request actually
// went through, the second one finds all fields already set to its new values (which
// contain a random token), writes them again, and returns the first request's result.
// Retries can't lose a lease or grant more than the first request did.
package redisstore
