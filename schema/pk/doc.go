// Package pk provides Go types for primary and foreign keys. They hold 64-bit numbers and
// make sure no digit gets lost between Go, JSON and the database.
//
//	type User struct {
//		ID   pk.ID  `json:"id"`
//		Name string `json:"name"`
//	}
//
// # Which type
//
// Use [ID] with a BIGINT column. [Of] is the same thing with the entity in its type, so
// that passing a post's key as a user's key won't compile. [Prefixed] goes further and
// puts the entity in the text as well, e.g. user_06Y5DNAR40000. If the text shouldn't
// give anything away, see package
// [github.com/snowkey-go/snowkey/schema/pk/public].
//
// # Columns and structs that exist already
//
// There are three more types for columns and structs you can't change:
//
//	[Text]      a VARCHAR(20) column with decimal text
//	[SortText]  a CHAR(13) column with text that sorts like the numbers
//	[String]    a BIGINT column, and a struct whose key is a Go string
//
// The column decides which one you need. Text and SortText send text to the database and
// are for text columns only; every other type sends an integer, for BIGINT columns. Be
// careful not to mix them up. You might not see any error, just queries that return the
// wrong rows or none at all:
//
//   - Comparing an integer with a text column: MySQL converts both sides to float64,
//     which makes neighbouring keys equal. A DELETE … WHERE id = ? will delete all of
//     those rows (and can't use an index either). MariaDB's = is exact, but FIELD and
//     LEAST use float64. SQLite finds no rows in COALESCE, CASE, HAVING and some other
//     expressions. pgx rejects the integer, provided it knows the column's type.
//   - Comparing text with a BIGINT column: MySQL and MariaDB convert the text to float64
//     in CASE, COALESCE, FIELD and the like, whereas SQLite finds no rows there.
//
// Our tests run about a hundred different queries and updates for every type and its
// columns.
//
// Scanning is more forgiving. Any type can scan integers, as well as text in its own
// format, no matter what type the column has.
//
// # Text
//
// Decimal text looks exactly like the output of [strconv.FormatInt], with no plus sign,
// leading zeros, spaces, fraction or exponent. Sortable text is 13 characters of
// upper-case Crockford base32 (the TSID format), left-padded with zeros so that it sorts
// in the same order as the numbers:
//
//	9223372036854775807  =  7ZZZZZZZZZZZZ
//	                        │└────────────  5 bits each, of 0-9 A-H J K M N P-T V-Z
//	                        └─────────────  the top 3 bits: 0 to 7
//
// Parsing is strict: each number has a single spelling, and lower case is rejected along
// with Crockford's aliases (I and L for 1, O for 0). Otherwise you could end up with
// several URLs and cache entries for one key, and queries on a text column would miss
// keys stored in another spelling. Note that 13 digits are valid in both formats, so the
// package never guesses which one it's looking at.
//
// There are functions, but no types, for three other formats:
//
//	9223372036854775807  =  7fffffffffffffff  FormatHex:     16 digits, 0-9 a-f
//	                     =  NQm6nKp8qFC       FormatBase58:  11 characters, Bitcoin's alphabet
//	                     =  AzL8n0Y58m7       FormatBase62:  11 characters, 0-9 A-Z a-z
//
// These are just as strict. They have a fixed width and sort like the numbers when
// compared byte by byte. base58 and base62 are case-sensitive, so don't store them in a
// column with a case-insensitive collation. Any 64-bit number can be written: negative
// numbers look like the unsigned number with the same bits, and sort after all others.
//
// # JSON
//
// Keys are encoded as JSON strings, because JavaScript rounds numbers above 2^53.
// Decoding accepts integers too, except for [Prefixed] (an integer has no prefix), and
// null leaves the key unchanged.
//
// One consequence is that documents in a JSON column contain keys as strings. When
// scanning a key from such a document, select it as text (doc->>'id', or on MariaDB
// JSON_UNQUOTE(JSON_EXTRACT(doc, '$.id'))), which works with every type. When comparing,
// use a Text; an integer would run into the problems described above. Functions like
// JSON_ARRAYAGG turn a BIGINT column into JSON numbers, and these are decoded exactly as
// well.
//
// Give the key a field name instead of embedding it. A struct{ pk.ID; Name string } would
// inherit the key's MarshalJSON along with its other methods, and encoding/json would
// write only the key.
//
// # Zero and negative numbers
//
// Keys are positive, and to the ORM integrations zero means that the row doesn't have a
// key yet. For the types themselves it's an ordinary number: NULL scans as 0, and 0 is
// written as 0. If you need to preserve NULL, use a pointer, [sql.Null], or a [String]
// (which has an empty value for NULL).
//
// Value has a value receiver, so calling it on a nil pointer panics. database/sql and the
// ORMs never do this. pgx does for a nil pointer behind another pointer, as in &row.Boss,
// unless you've called pgxid.Register on the connection. For other libraries that do this,
// use sql.Null instead of a pointer.
//
// Although generators never issue negative numbers, your tables may already contain some,
// e.g. unsigned 64-bit keys stored in a signed column. They pass through SQL, JSON and
// decimal text unchanged. Sortable text has no room for them: a [SortText] or [Prefixed]
// will scan a negative integer, but returns an error when writing it as text.
//
// # Other encodings
//
// MarshalText takes care of encoding/xml, flag (TextVar), YAML and MessagePack
// libraries, and object member names in encoding/json. encoding/gob stores the integer.
// There's also MarshalGQL for GraphQL servers generated by gqlgen, UnmarshalParam for
// gin's and echo's binders, and GormDataType for GORM's migrator.
package pk
