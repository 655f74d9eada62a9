// Package redistoken stores sessions in Redis or Valkey, using the application's go-redis
// client.
//
//	sessions := redistoken.New(redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"}))
//
// # The keys
//
//	snowkey:session:{id}   "7 4633f5…": the user and the hash of the token; expires when the session does
//	snowkey:user:{user}    a sorted set of the user's session ids, by when they expire
//
// A session exists as long as it has its own key as well as an entry in its user's set. This
// allows [Store.RevokeUser] to end all of a user's sessions atomically, just by deleting the
// set. No cleanup is needed because Redis expires everything else on its own. If a key or a
// set is evicted, its sessions end for good.
//
// Redis Cluster is supported. Although a session's two keys aren't in the same slot (the
// user isn't known yet when a session is looked up), the store never changes both in one
// transaction.
//
// # Round trips
//
//	Add 2, User 2, Sessions 2, Revoke 2, RevokeUser 1
//
// # What the server must do
//
// Redis 7 or later is required, or Valkey. Keep in mind that Redis may lose its most recent
// writes in a failover, or when it's restarted without an append-only file, in which case a
// revoked session could reappear and stay around until it expires. If this is a concern, use
// package sqltoken instead, or consider Redis's min-replicas-to-write and appendfsync
// options. Sessions shouldn't be read from replicas either.
//
// Idle time is measured by the server's clock rather than the signer's.
package redistoken
