// Package pk provides Go types for primary and foreign keys that are 64-bit numbers.
// They're designed not to lose any digits on the way between Go, JSON and the database.
//
//	type User struct {
//		ID   pk.ID  `json:"id"`
//		Name string `json:"name"`
//	}
//
// # Which type
//
// [ID] is the type to use with a BIGINT column. [Of] is an ID with the entity in its
// type, which keeps a post's key from being passed as a user's key. [Prefixed] goes
// further and puts the entity in the text as well, e.g. user_06Y5DNAR40000. Package
// [github.com/snowkey-go/snowkey/schema/pk/public] has a type whose text doesn't reveal
// anything.
//
// # Columns and structs that exist already
//
// Three more types are provided for existing columns and structs that can't be changed:
//
//	[Text]      a VARCHAR(20) column with decimal text
//	[SortText]  a CHAR(13) column with text that sorts like the numbers
//	[String]    a BIGINT column, and a struct whose key is a Go string
//
// The right type depends on the column. Text and SortText send text to the database and
// are for text columns only, while all other types send an integer and are for BIGINT
// columns. Mixing them up may cause queries to return the wrong rows (or none at all)
// without any error:
//
//   - Comparing an integer with a text column: MySQL converts both sides to float64,
//     which makes neighbouring keys equal. A DELETE … WHERE id = ? will delete all of
//     those rows (and can't use an index either). MariaDB's = is exact, but FIELD and
//     LEAST use float64. SQLite finds no rows in COALESCE, CASE, HAVING and some other
//     expressions. pgx rejects the integer, provided it knows the column's type.
//   - Comparing text with a BIGINT column: MySQL and MariaDB convert the text to float64
//     in CASE, COALESCE, FIELD and the like, whereas SQLite finds no rows there.
//
// Every type is tested with about a hundred different queries and updates on its
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
// Parsing is strict in that each number has a single spelling. This excludes lower case
// as well as the aliases allowed by Crockford (I and L for 1, O for 0). Without this,
// the same key might end up with several URLs and cache entries, and a query on a text
// column would miss a key stored in another spelling. Functions in this package never
// guess the format, since text consisting of 13 digits is valid in both.
//
// Three other formats are available as functions, without a type:
//
//	9223372036854775807  =  7fffffffffffffff  FormatHex:     16 digits, 0-9 a-f
//	                     =  NQm6nKp8qFC       FormatBase58:  11 characters, Bitcoin's alphabet
//	                     =  AzL8n0Y58m7       FormatBase62:  11 characters, 0-9 A-Z a-z
//
// These are just as strict. With their fixed width, they also sort like the numbers
// when compared byte by byte. Because base58 and base62 are case-sensitive, they
// shouldn't be stored in a column with a case-insensitive collation. Any 64-bit number
// can be formatted: a negative number looks like the unsigned number with the same
// bits, and sorts after all others.
//
// # JSON
//
// Keys are encoded as JSON strings, because JavaScript rounds numbers above 2^53. When
// decoding, integers are accepted as well (except by [Prefixed], which requires its
// prefix), and null leaves the key unchanged.
//
// One consequence is that documents in a JSON column contain keys as strings. To scan a
// key from such a document, it should be selected as text, which works with every type:
// doc->>'id', or JSON_UNQUOTE(JSON_EXTRACT(doc, '$.id')) on MariaDB. To compare it, use
// a Text, since an integer would run into the problems described above. Functions like
// JSON_ARRAYAGG turn a BIGINT column into JSON numbers. These will be decoded exactly
// as well.
//
// Keys should be named fields rather than being embedded. struct{ pk.ID; Name string }
// would inherit the key's MarshalJSON along with its other methods, causing
// encoding/json to write nothing but the key.
//
// # Zero and negative numbers
//
// Keys are positive. To the ORM integrations, zero means that a row doesn't have a key
// yet. The types themselves treat zero like any other number: NULL scans as 0, and 0 is
// written as 0. To preserve NULL, use a pointer, [sql.Null], or a [String] (which has
// an empty value for NULL).
//
// Value has a value receiver and will panic on a nil pointer. database/sql and the ORMs
// never do this. pgx will do it for a nil pointer behind another pointer, as in
// &row.Boss, unless pgxid.Register has been called on the connection. For other
// libraries that do this, sql.Null can be used instead of a pointer.
//
// Generators never issue negative numbers, but an existing table might contain some,
// e.g. if it has unsigned 64-bit keys in a signed column. They pass through SQL, JSON
// and decimal text unchanged. Sortable text can't represent them: a [SortText] or
// [Prefixed] will still scan a negative integer, but returns an error when writing it
// as text.
//
// # Other encodings
//
// MarshalText is used by encoding/xml, flag (TextVar), YAML and MessagePack libraries,
// and by encoding/json for object member names. encoding/gob stores the integer.
// MarshalGQL is for GraphQL servers generated by gqlgen, UnmarshalParam is for the
// binders in gin and echo, and GormDataType is for GORM's migrator.
package pk
