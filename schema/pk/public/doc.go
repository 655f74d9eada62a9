// Package public writes keys as opaque text, which doesn't show when a row was created, how
// many rows there are, or what the next key is going to be.
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
// An [ID] works like a [pk.ID] in Go and in the database. Keys of any other type can be
// converted with a [Codec]. Both are safe for concurrent use.
//
// # Format
//
// The text is 23 characters long: a key version followed by a single AES block in base62.
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
// The entity is the result of T's Prefix method. This means that a Go type can be renamed or
// moved to another package without affecting any ids, whereas changing its Prefix will
// change all of them. Types sharing a Prefix accept each other's ids.
//
// Decoding is the reverse, followed by a comparison of the tag (in constant time, and
// without a query). Since changing a single character scrambles the whole block, a random
// guess has a 1 in 2^64 chance of passing. The construction is known as encode-then-encipher
// (Bellare and Rogaway, 2000). The [Error] is always the same, whether text was forged,
// mistyped, or just copied from another entity's id.
//
// # What it does not do
//
//   - This isn't authorization. Anyone who has seen an id can send it back to you, so still
//     check on every request that the caller is allowed to use the row.
//   - Ids don't expire, and can't be revoked while their encryption key is in use.
//   - Equal ids have equal text, so people can still tell when two of them refer to the same
//     row.
//   - The text isn't in key order. Use the column in SQL to sort and paginate.
//
// See docs/web.md for help with choosing between this package, [pk.Prefixed] and plain keys,
// and for how to replace an encryption key.
package public
