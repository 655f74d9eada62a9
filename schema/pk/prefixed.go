package pk

import (
	"database/sql/driver"
	"io"
	"log/slog"
	"reflect"
)

// A Prefixer provides the entity's name for the text of its keys. For use with
// [Prefixed], a struct with this method is enough (even an empty one).
type Prefixer interface {
	// Prefix must return the same text every time: 1 to 63 characters from a-z and _,
	// starting and ending with a letter, as in TypeID. Use a different prefix for each
	// entity in a program.
	Prefix() string
}

// Prefixed[T] is the key of a T in a BIGINT column. Outside the database, it's text that
// says which entity it belongs to:
//
//	user_06Y5DNAR40000
//	│    └────────────  the 13 characters of a SortText
//	└─────────────────  T's Prefix
//
// Like [Of], it lets the compiler tell keys of different entities apart. Text is checked
// as well: a wrong or missing prefix is an error.
//
//	type User struct{ ID pk.Prefixed[User] }
//
//	func (User) Prefix() string { return "user" }
//
//	type Post struct {
//		ID     pk.Prefixed[Post]
//		Author pk.Prefixed[User]
//	}
//
// The text sorts in key order. Since JSON, URLs, forms and GraphQL require the prefix,
// they don't accept plain numbers.
//
// T only contributes its name and prefix, and must not be an interface. The zero value is
// 0, which has a text like any other number. Values are safe for concurrent use.
type Prefixed[T Prefixer] int64

// form is inlined, so it doesn't allocate. A call of Prefix within it would prevent that.
func (Prefixed[T]) form(prefix string) *form {
	return &form{name: "pk.Prefixed", entity: reflect.TypeFor[T](), digits: &base32, prefixed: true, prefix: prefix}
}

func prefix[T Prefixer]() string {
	var t T
	return t.Prefix()
}

// ParsePrefixed parses T's prefix, an underscore and the 13 characters of a [SortText].
// It only accepts the exact output of [Prefixed.String]. The error is an [*Error].
func ParsePrefixed[T Prefixer](s string) (Prefixed[T], error) {
	return parseAs[Prefixed[T]](Prefixed[T](0).form(prefix[T]()), s)
}

// ID returns the same key without its entity.
func (id Prefixed[T]) ID() ID { return ID(id) }

// Int64 returns the number.
func (id Prefixed[T]) Int64() int64 { return int64(id) }

// IsZero reports whether the key is 0.
func (id Prefixed[T]) IsZero() bool { return id == 0 }

// String returns the text. Negative numbers are written as the prefix and decimal text,
// which [ParsePrefixed] won't accept.
func (id Prefixed[T]) String() string { return id.form(prefix[T]()).string(int64(id)) }

// Value implements [driver.Valuer] and returns an int64, even for 0.
func (id Prefixed[T]) Value() (driver.Value, error) { return int64(id), nil }

// Scan implements [database/sql.Scanner]. On top of everything [ID.Scan] accepts, it
// takes text with T's prefix, and a Prefixed[T] or *Prefixed[T].
func (id *Prefixed[T]) Scan(src any) error { return scan(id.form(prefix[T]()), id, src) }

// AppendText implements [encoding.TextAppender] and does not allocate. It returns an
// error for negative numbers, and if T's prefix isn't valid.
func (id Prefixed[T]) AppendText(dst []byte) ([]byte, error) {
	return id.form(prefix[T]()).appendText(dst, int64(id))
}

// MarshalText implements [encoding.TextMarshaler]; see [Prefixed.AppendText].
func (id Prefixed[T]) MarshalText() ([]byte, error) { return id.form(prefix[T]()).text(int64(id)) }

// UnmarshalText implements [encoding.TextUnmarshaler]; see [ParsePrefixed].
func (id *Prefixed[T]) UnmarshalText(text []byte) error { return set(id.form(prefix[T]()), id, text) }

// UnmarshalParam implements the binder interfaces of gin and echo; see
// [ID.UnmarshalParam].
func (id *Prefixed[T]) UnmarshalParam(param string) error {
	return set(id.form(prefix[T]()), id, param)
}

// MarshalJSON implements [encoding/json.Marshaler]. It writes a JSON string; see
// [Prefixed.AppendText].
func (id Prefixed[T]) MarshalJSON() ([]byte, error) { return id.form(prefix[T]()).json(int64(id)) }

// UnmarshalJSON implements [encoding/json.Unmarshaler]. It accepts a string with T's
// prefix, but no number. null leaves the key unchanged.
func (id *Prefixed[T]) UnmarshalJSON(data []byte) error {
	return unmarshalJSON(id.form(prefix[T]()), id, data)
}

// MarshalGQL writes a GraphQL string. A negative number is written in decimal.
func (id Prefixed[T]) MarshalGQL(w io.Writer) { id.form(prefix[T]()).graphQL(w, int64(id)) }

// UnmarshalGQL accepts a GraphQL string with T's prefix, but no number. nil leaves the key
// unchanged.
func (id *Prefixed[T]) UnmarshalGQL(v any) error { return unmarshalGQL(id.form(prefix[T]()), id, v) }

// LogValue implements [slog.LogValuer] and returns the text.
func (id Prefixed[T]) LogValue() slog.Value { return id.form(prefix[T]()).log(int64(id)) }

// GormDataType returns the column type for GORM's migrator.
func (Prefixed[T]) GormDataType() string { return "bigint" }
