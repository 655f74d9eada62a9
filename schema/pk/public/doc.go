// Package public writes keys as opaque text. Use it for the ids in URLs and APIs if they must
// not show when a row was created, how many rows there are, or what the next key will be.
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
// In Go and in the database, an [ID] works like a [pk.ID]. For keys of any other type, use a
// [Codec]. Both are safe for concurrent use.
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
// The entity is the result of T's Prefix method. If you change what Prefix returns, all ids
// of the entity change. If you only rename the Go type, they stay the same. Types with the
// same Prefix accept each other's ids.
//
// To decode an id, the codec decrypts the block and compares the tag with the entity's. It
// doesn't need a query. A random guess has a 1 in 2^64 chance of passing, because changing a
// single character changes the whole block. (The construction is known as
// encode-then-encipher; Bellare and Rogaway, 2000.)
//
// For any other text, decoding returns an [Error]. It doesn't say whether the text was
// forged, mistyped, or copied from another entity's id.
//
// # What it does not do
//
//   - Public ids aren't permissions. Anyone who has seen an id can send it back to you, so
//     check on every request that the caller is allowed to use the row.
//   - Public ids don't expire, and can't be revoked while their encryption key is in use.
//   - Equal ids have equal text, so people can tell that two ids refer to the same row.
//   - The text isn't in key order. Use the column in SQL to sort and paginate.
//
// docs/web.md compares this package with [pk.Prefixed] and plain keys. It also describes how
// to replace an encryption key.
package public
