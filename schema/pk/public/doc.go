// Package public writes keys as opaque text. Your users won't learn when a row was created,
// how many rows you have, or what the next key will be.
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
// In Go and in the database, an [ID] works like a [pk.ID]. If your keys have some other type,
// use the [Codec] to convert them. Both are safe for concurrent use.
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
// The entity is whatever T's Prefix method returns. You can rename the Go type or move it to
// another package without changing any ids, but don't change the Prefix. Types that share a
// Prefix accept each other's ids.
//
// Decoding does all this in reverse and then compares the tag (in constant time, and without
// a query). Since changing a single character scrambles the whole block, a random guess has a
// 1 in 2^64 chance of passing. The construction is known as encode-then-encipher (Bellare and
// Rogaway, 2000). You'll get the same [Error] whether the text was forged, mistyped, or just
// copied from another entity's id.
//
// # What it does not do
//
//   - This isn't authorization. Anyone who has seen an id can send it back to you, so still
//     check on every request that the caller is allowed to use the row.
//   - Ids don't expire, and you can't revoke a single one while its key is in use.
//   - The same key always has the same text, which means people can tell when two ids refer
//     to the same row.
//   - The text isn't in key order. Use the column in SQL to sort and paginate.
//
// docs/web.md helps you choose between this package, [pk.Prefixed] and plain keys. It also
// explains how to replace an encryption key.
package public
