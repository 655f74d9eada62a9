// Package redistoken stores sessions in Redis or Valkey, using your application's go-redis
// client.
//
//	sessions := redistoken.New(redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"}))
//
// # The keys
//
//	snowkey:session:{id}   "7 4633f5…": the user and the hash of the token; expires when the session does
//	snowkey:user:{user}    a sorted set of the user's session ids, by when they expire
//
// A session needs both its own key and an entry in the user's set to exist. This allows
// [Store.RevokeUser] to atomically end all of a user's sessions by deleting the set. There's
// nothing to clean up, as Redis expires the leftovers on its own. Evicting a key or a set ends
// its sessions for good.
//
// Redis Cluster works too. The two keys aren't in the same slot (when looking up a session, we
// don't know the user yet), but no transaction ever touches both.
//
// # Round trips
//
//	Add 2, User 2, Sessions 2, Revoke 2, RevokeUser 1
//
// # What the server must do
//
// You need Redis 7 or later, or Valkey. Keep in mind that Redis can lose its most recent
// writes in a failover, or when it restarts without an append-only file. A revoked session
// might then reappear and stay around until it expires. If that's a concern, use package
// sqltoken instead, or have a look at Redis's min-replicas-to-write and appendfsync options.
// And don't read from replicas.
//
// Idle time is measured by the server's clock rather than the signer's.
package redistoken
