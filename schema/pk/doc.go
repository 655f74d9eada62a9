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
// All of these types are for a BIGINT column:
//
//   - Use [ID] unless you need one of the others.
//   - Use [Of] to have the compiler reject a post's key where a user's key is expected.
//   - Use [Prefixed] if people see the keys. Its text contains the entity, e.g.
//     user_06Y5DNAR40000.
//   - Use package [github.com/snowkey-go/snowkey/schema/pk/public] if the text must not
//     reveal when a row was created or how many rows there are.
//
// # Columns and structs that exist already
//
// Use one of these types if you have an existing column or struct that can't be changed:
//
//	[Text]      a VARCHAR(20) column with decimal text
//	[SortText]  a CHAR(13) column with text that sorts like the numbers
//	[String]    a BIGINT column, and a struct whose key is a Go string
//
// Choose the type by the column. Text and SortText send text to the database and are for
// text columns only. All other types send an integer and are for BIGINT columns. If you
// mix them up, queries may return the wrong rows (or none at all) without any error:
//
//   - Comparing an integer with a text column: MySQL converts both sides to float64,
//     which makes neighbouring keys equal. For example, DELETE … WHERE id = ? deletes all
//     of their rows. MariaDB's = is exact, but FIELD and LEAST use float64. SQLite finds
//     no rows in COALESCE, CASE, HAVING and some other expressions. pgx rejects the
//     integer if it knows the column's type.
//   - Comparing text with a BIGINT column: MySQL and MariaDB convert the text to float64
//     in CASE, COALESCE, FIELD and the like. SQLite finds no rows there.
//
// On the right columns, every type is tested with 80 kinds of queries and updates.
//
// When reading, the column's type doesn't matter: every type can scan integers, and text
// in its own format.
//
// # Text
//
// Decimal text is the output of [strconv.FormatInt], with no plus sign, leading zeros,
// spaces, fraction or exponent.
//
// Sortable text is useful where keys are sorted as text, such as in file names. It has 13
// characters of upper-case Crockford base32 (the TSID format), left-padded with zeros:
//
//	9223372036854775807  =  7ZZZZZZZZZZZZ
//	                        │└────────────  5 bits each, of 0-9 A-H J K M N P-T V-Z
//	                        └─────────────  the top 3 bits: 0 to 7
//
// Parsing only accepts one spelling of each number, so that a key has a single URL and a
// single cache entry. Lower case is an error, and so are the aliases allowed by Crockford
// (I and L for 1, O for 0).
//
// Text that consists of 13 digits is valid as decimal and as sortable text. For this
// reason, functions in this package never guess the format.
//
// For three other formats, there are functions but no types:
//
//	9223372036854775807  =  7fffffffffffffff  FormatHex:     16 digits, 0-9 a-f
//	                     =  NQm6nKp8qFC       FormatBase58:  11 characters, Bitcoin's alphabet
//	                     =  AzL8n0Y58m7       FormatBase62:  11 characters, 0-9 A-Z a-z
//
// These formats also have one spelling for each number, and sort like the numbers when
// compared byte by byte. Don't store base58 or base62 in a column with a case-insensitive
// collation. A negative number is written as the unsigned number with the same bits, and
// sorts after all others.
//
// # JSON
//
// Keys are encoded as JSON strings, because JavaScript rounds numbers above 2^53. When
// decoding, integers are accepted as well (except by [Prefixed], which requires its
// prefix). null leaves the key unchanged.
//
// In a JSON column, documents also contain keys as strings. To read such a key, select it
// as text, e.g. doc->>'id', or JSON_UNQUOTE(JSON_EXTRACT(doc, '$.id')) on MariaDB, and
// scan it into any of the types. To compare it in a query, pass a Text as the argument,
// because comparing it with an integer may find the wrong rows.
//
// SQL functions like JSON_ARRAYAGG turn a BIGINT column into JSON numbers. The types
// decode these exactly.
//
// Don't embed keys in structs. encoding/json would write struct{ pk.ID; Name string } as
// nothing but the key, because the struct inherits the key's MarshalJSON.
//
// # Zero and negative numbers
//
// Keys are positive. The ORM integrations fill keys that are zero. The types themselves
// treat zero like any other number: NULL scans as 0, and 0 is written as 0.
//
// For a column that can be NULL, use a pointer, [sql.Null], or a [String], which is empty
// for NULL. If a library calls Value on a nil pointer, the call panics. database/sql and
// the ORMs don't do this. pgx does it for a nil pointer behind another pointer, as in
// &row.Boss, unless pgxid.Register has been called on the connection. With other
// libraries that do it, use sql.Null.
//
// Generators never issue negative numbers, but an existing table might contain some,
// e.g. if it has unsigned 64-bit keys in a signed column. They pass through SQL, JSON
// and decimal text unchanged. Sortable text can't represent them: a [SortText] or
// [Prefixed] can scan a negative integer, but returns an error when writing it as text.
//
// # Other encodings
//
// The methods of the types support these packages:
//
//	MarshalText     encoding/xml, flag (TextVar), YAML and MessagePack libraries, and
//	                encoding/json for object member names
//	MarshalGQL      GraphQL servers generated by gqlgen
//	UnmarshalParam  the binders of gin and echo
//	GormDataType    GORM's migrator
//
// encoding/gob stores the integer.
package pk
