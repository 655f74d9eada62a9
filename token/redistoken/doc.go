// Package redistoken keeps sessions in Redis or Valkey, with the go-redis client of the
// application.
//
//	sessions := redistoken.New(redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"}))
//
// # The keys
//
//	snowkey:session:{id}   "7 4633f5…": the user and the hash of the token; expires when the session does
//	snowkey:user:{user}    a sorted set of the user's session ids, by when they expire
//
// A session exists if it has a key and is in the set of its user. [Store.RevokeUser] can
// therefore end all sessions of a user by deleting the set, in one atomic step. Redis
// removes everything else by itself, so there is nothing to clean up. If the server evicts
// a key or a set, the sessions end. Nothing revives a session.
//
// The names are not in one slot, since a session is found before its user is known. The
// store never changes two keys in one transaction, so it works with Redis Cluster.
//
// # Round trips
//
//	Add 2, User 2, Sessions 2, Revoke 2, RevokeUser 1
//
// # What the server must do
//
// It must be Redis 7 or later, or Valkey. Redis may forget its last
// writes if it fails over, or if it restarts without an append-only file. A session that
// was revoked is then there again until it expires. Where this
// matters, use package sqltoken, or the options min-replicas-to-write and appendfsync. Don't
// read from replicas.
//
// The server counts the idle time of sessions by its own clock.
package redistoken
