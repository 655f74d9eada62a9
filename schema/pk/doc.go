// Package pk provides Go types for primary and foreign keys: 64-bit numbers that keep
// every digit on their way between Go, JSON and the database.
//
//	type User struct {
//		ID   pk.ID  `json:"id"`
//		Name string `json:"name"`
//	}
//
// # Which type
//
// Use [ID], in a BIGINT column. [Of] is an ID whose type also names the entity, so that
// the compiler rejects a post's key where a user's key is expected. [Prefixed] does the
// same, and its text names the entity as well: user_06Y5DNAR40000. Package
// [github.com/snowkey-go/snowkey/schema/pk/public] has a type whose text reveals nothing.
//
// # Columns and structs that exist already
//
// Three more types are for what is in place and can't be changed:
//
//	[Text]      a VARCHAR(20) column with decimal text
//	[SortText]  a CHAR(13) column with text that sorts like the numbers
//	[String]    a BIGINT column, and a struct whose key is a Go string
//
// Choose by the column. Text and SortText send text, and need a text column. All other
// types send an integer, and must only be used with BIGINT columns. If
// the type and the column don't match, queries may return the wrong rows, or none at
// all, without an error:
//
//   - An integer compared with a text column: MySQL converts both sides to float64,
//     which makes neighbouring keys equal. A DELETE … WHERE id = ? then deletes all of
//     their rows, and can't use an index either. MariaDB compares exactly with =, but
//     as float64 in FIELD and LEAST. SQLite finds no row in COALESCE, CASE, HAVING and
//     some other expressions. pgx rejects the integer if it knows the type of the
//     column.
//   - Text compared with a BIGINT column: MySQL and MariaDB convert the text to float64
//     in expressions such as CASE, COALESCE and FIELD, whereas SQLite finds no row in
//     them.
//
// The tests check every type against its columns with about a hundred different queries
// and updates.
//
// Scanning is more forgiving: every type can scan an integer, or text in its own
// format, from a column of any type.
//
// # Text
//
// Decimal text is exactly what [strconv.FormatInt] writes: no plus sign, leading zeros,
// spaces, fraction or exponent. Sortable text is 13 characters of upper-case Crockford
// base32, padded with zeros on the left so that the text sorts in the same order as the
// numbers. TSIDs use the same format:
//
//	9223372036854775807  =  7ZZZZZZZZZZZZ
//	                        │└────────────  5 bits each, of 0-9 A-H J K M N P-T V-Z
//	                        └─────────────  the top 3 bits: 0 to 7
//
// Both formats are strict in that every number has exactly one spelling, so lower case
// and the aliases that Crockford allows (I and L for 1, O for 0) are rejected.
// Otherwise one key could end up with several URLs and cache entries, and a query on a
// text column would miss a key stored in another spelling. Note that 13 digits are
// valid in both formats. That's why no function in this package guesses the format.
//
// Three more formats have functions, but no type:
//
//	9223372036854775807  =  7fffffffffffffff  FormatHex:     16 digits, 0-9 a-f
//	                     =  NQm6nKp8qFC       FormatBase58:  11 characters, Bitcoin's alphabet
//	                     =  AzL8n0Y58m7       FormatBase62:  11 characters, 0-9 A-Z a-z
//
// They are just as strict, and have a fixed width as well. Their text sorts like the
// numbers if it is compared byte by byte. Upper and lower case differ in base58 and base62,
// so a column with a collation that ignores case must not hold them. All numbers of 64
// bits have a text: a negative number is written like the unsigned number with the same
// bits, and comes after all others.
//
// # JSON
//
// Keys are written as JSON strings, because JavaScript rounds numbers above 2^53.
// Decoding accepts both strings and integers, and null leaves the key unchanged. A
// [Prefixed] accepts only strings, because an integer has no prefix.
//
// This also means that the keys of a document stored in a JSON column are strings. To
// scan a key from such a document, select it as text (doc->>'id', or on MariaDB
// JSON_UNQUOTE(JSON_EXTRACT(doc, '$.id'))), which works with every type. To compare it,
// use a Text, since comparing it with an integer has the problems described above.
// Functions such as JSON_ARRAYAGG turn a BIGINT column into JSON numbers. These are
// also decoded exactly.
//
// Avoid embedding a key in a struct. A struct such as struct{ pk.ID; Name string }
// inherits the methods of the key, including MarshalJSON, so encoding/json would write
// just the key instead of the whole struct. Give the field a name instead.
//
// # Zero and negative numbers
//
// Keys are positive numbers, and the ORM integrations take zero to mean that a row has
// no key yet. The types in this package don't treat zero specially: NULL is scanned as
// 0, and 0 is written as 0. Use a pointer or [sql.Null] if NULL must be preserved, or a
// [String], which can tell NULL from 0 by itself.
//
// Calling Value on a nil pointer panics, because Value has a value receiver.
// database/sql and the ORMs don't do this. pgx does it for a nil pointer behind another
// pointer, as in &row.Boss, unless the connection has pgxid.Register. With other libraries
// that do, use sql.Null instead of a pointer.
//
// Generators never issue negative numbers, but existing tables may contain them, for
// example when unsigned 64-bit keys are stored in a signed column. SQL, JSON and
// decimal text carry negative numbers unchanged. Sortable text can't represent them, so
// although a [SortText] or [Prefixed] can scan a negative integer, writing it as text
// returns an error.
//
// # Other encodings
//
// MarshalText is used by encoding/xml, flag (TextVar), YAML and MessagePack libraries,
// and by encoding/json when a key is the name of an object member. encoding/gob stores
// the integer. GraphQL servers generated by gqlgen call MarshalGQL, the binders of gin
// and echo call UnmarshalParam, and GORM's migrator calls GormDataType.
package pk
