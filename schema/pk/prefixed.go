package pk

import (
	"database/sql/driver"
	"io"
	"log/slog"
	"reflect"
)

// A Prefixer names the entity that it is, for the text of its keys. A struct or an empty
// struct with this method is all that [Prefixed] needs.
type Prefixer interface {
	// Prefix returns the same text every time. It has 1 to 63 characters of a-z and _,
	// and begins and ends with a letter, as in TypeID. No two entities of a program
	// should share one.
	Prefix() string
}

// A Prefixed[T] is the key of a T in a BIGINT column. Outside the database it is text
// that names the entity:
//
//	user_06Y5DNAR40000
//	│    └────────────  the 13 characters of a SortText
//	└─────────────────  T's Prefix
//
// The compiler distinguishes it from the keys of other entities, as it does for an [Of].
// Text with another prefix, or without one, is an error:
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
// Text sorts in the order of the keys. JSON, URLs, forms and GraphQL must have the
// prefix, so numbers without it are errors there.
//
// T is only used for its name and prefix. It must not be an interface. The zero value of
// Prefixed[T] is 0, which is written as text like any other number. Values are safe for
// concurrent use.
type Prefixed[T Prefixer] int64

func (Prefixed[T]) form() form {
	var t T
	return form{name: "pk.Prefixed", entity: reflect.TypeFor[T](), sortable: true, prefixed: true, prefix: t.Prefix()}
}

// ParsePrefixed parses T's prefix, an underscore and the 13 characters of a [SortText].
// It accepts only what [Prefixed.String] writes. The error is an [*Error].
func ParsePrefixed[T Prefixer](s string) (Prefixed[T], error) {
	var id Prefixed[T]
	f := id.form()
	err := set(&f, &id, s)
	return id, err
}

// ID returns the same key without its entity.
func (id Prefixed[T]) ID() ID { return ID(id) }

// Int64 returns the number.
func (id Prefixed[T]) Int64() int64 { return int64(id) }

// IsZero reports whether the key is 0.
func (id Prefixed[T]) IsZero() bool { return id == 0 }

// String returns the text. For a negative number it returns the prefix and decimal text,
// which [ParsePrefixed] does not accept.
func (id Prefixed[T]) String() string {
	f := id.form()
	return f.string(int64(id))
}

// Value implements [driver.Valuer] and returns an int64, even for 0.
func (id Prefixed[T]) Value() (driver.Value, error) { return int64(id), nil }

// Scan implements [database/sql.Scanner]. It accepts everything [ID.Scan] does, text with
// T's prefix, and a Prefixed[T] or *Prefixed[T].
func (id *Prefixed[T]) Scan(src any) error {
	f := id.form()
	return scan(&f, id, src)
}

// AppendText implements [encoding.TextAppender] and does not allocate. It returns an error
// for a negative number, and if T's prefix is not allowed.
func (id Prefixed[T]) AppendText(dst []byte) ([]byte, error) {
	f := id.form()
	return f.appendText(dst, int64(id))
}

// MarshalText implements [encoding.TextMarshaler]; see [Prefixed.AppendText].
func (id Prefixed[T]) MarshalText() ([]byte, error) {
	f := id.form()
	return f.text(int64(id))
}

// UnmarshalText implements [encoding.TextUnmarshaler]; see [ParsePrefixed].
func (id *Prefixed[T]) UnmarshalText(text []byte) error {
	f := id.form()
	return set(&f, id, text)
}

// UnmarshalParam implements the binder interfaces of gin and echo; see
// [ID.UnmarshalParam].
func (id *Prefixed[T]) UnmarshalParam(param string) error {
	f := id.form()
	return set(&f, id, param)
}

// MarshalJSON implements [encoding/json.Marshaler]. It writes a JSON string; see
// [Prefixed.AppendText].
func (id Prefixed[T]) MarshalJSON() ([]byte, error) {
	f := id.form()
	return f.json(int64(id))
}

// UnmarshalJSON implements [encoding/json.Unmarshaler]. It accepts a string with T's
// prefix, but no number. null leaves the key unchanged.
func (id *Prefixed[T]) UnmarshalJSON(data []byte) error {
	f := id.form()
	return unmarshalJSON(&f, id, data)
}

// MarshalGQL writes a GraphQL string. A negative number is written in decimal.
func (id Prefixed[T]) MarshalGQL(w io.Writer) {
	f := id.form()
	f.graphQL(w, int64(id))
}

// UnmarshalGQL accepts a GraphQL string with T's prefix, but no number. nil leaves the key
// unchanged.
func (id *Prefixed[T]) UnmarshalGQL(v any) error {
	f := id.form()
	return unmarshalGQL(&f, id, v)
}

// LogValue implements [slog.LogValuer] and returns the text.
func (id Prefixed[T]) LogValue() slog.Value {
	f := id.form()
	return f.log(int64(id))
}

// GormDataType returns the column type for GORM's migrator.
func (Prefixed[T]) GormDataType() string { return "bigint" }
