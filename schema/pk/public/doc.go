// Package public writes keys as text that reveals nothing: neither when a row was created,
// nor how many there are, nor the key of the next row.
//
//	type User struct {
//		ID   public.ID[User] `json:"id"` // BIGINT in the database, "A6zBCUJ…" in JSON
//		Name string          `json:"name"`
//	}
//
//	func (User) Prefix() string { return "user" }
//
//	func main() {
//		codec, err := public.Load(os.Getenv("PUBLIC_ID_KEYS"))
//		if err != nil {
//			log.Fatal(err)
//		}
//		public.SetDefault(codec)
//		…
//	}
//
// An [ID] works like a [pk.ID] in Go and in the database. A [Codec] converts keys that
// have another type. Both are safe for concurrent use.
//
// # Format
//
// The text has 23 characters: the version of the key, and one AES block in base62.
//
//	A 6zBCUJIhvwF2o4HTpYpynQ
//	│ └──────────┬─────────┘
//	│            └─ 22 digits of 0-9 A-Z a-z, the highest first: 128 bits
//	└────────────── the version of the key: 0-9, A-Z or a-z
//
//	the block, before AES-256:   │ id, 64 bits │ tag of the entity, 64 bits │   big-endian
//
//	AES key = HMAC-SHA-256(key, "snowkey public id: block")
//	tag     = HMAC-SHA-256(key, "snowkey public id: entity " + entity), the first 8 bytes
//
// The entity is what the Prefix method of T returns. Renaming a Go type or its package
// doesn't change the text, but another Prefix does. Two types with the same Prefix accept
// each other's ids.
//
// Decoding reverses this and compares the tag. Changing any character of the text changes
// all bits of the block, so a guess has a chance of 1 in 2^64. This is encode-then-encipher
// (Bellare and Rogaway, 2000). Text that was forged, mistyped or copied from an id of
// another entity always leads to the same [Error]. The tag is compared in constant time,
// and no query is needed.
//
// # What it does not do
//
//   - It is not authorization. Anyone who was shown an id can send it. Check for every
//     request that the caller may use the row.
//   - An id doesn't expire, and can't be revoked while its key is in use.
//   - Equal ids have equal text. Someone who sees two texts can tell whether they are the
//     same row.
//   - The text doesn't sort like the keys. To page through rows, sort by the column in SQL.
//
// See docs/web.md for how to choose between this package, [pk.Prefixed] and plain
// keys, and for how to replace a key.
package public
