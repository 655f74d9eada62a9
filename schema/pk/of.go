package pk

import (
	"database/sql/driver"
	"io"
	"log/slog"
	"reflect"
)

// An Of[T] is the key of a T in a BIGINT column. It works like an [ID], but the
// compiler distinguishes it from the keys of other entities.
//
//	type User struct{ ID pk.Of[User] }
//	type Post struct {
//		ID     pk.Of[Post]
//		Author pk.Of[User]
//	}
//
// T only serves as a name, so none of its fields are stored. It may be the struct that
// has the key, an interface or an empty struct. The zero value of Of[T] is 0. Values
// are safe for concurrent use.
type Of[T any] int64

func (Of[T]) form() form { return form{name: "pk.Of", entity: reflect.TypeFor[T]()} }

// ParseOf reads decimal text as [Parse] does.
func ParseOf[T any](s string) (Of[T], error) {
	var id Of[T]
	err := set(id.form(), &id, s)
	return id, err
}

// ID returns the same key without its entity.
func (id Of[T]) ID() ID { return ID(id) }

// Int64 returns the number.
func (id Of[T]) Int64() int64 { return int64(id) }

// IsZero reports whether the key is 0.
func (id Of[T]) IsZero() bool { return id == 0 }

// String returns the number in decimal.
func (id Of[T]) String() string { return ID(id).String() }

// Value implements [driver.Valuer] with an int64, 0 included.
func (id Of[T]) Value() (driver.Value, error) { return int64(id), nil }

// Scan implements [database/sql.Scanner]. It takes what [ID.Scan] takes, an
// Of[T] and a *Of[T], but not the key of another entity.
func (id *Of[T]) Scan(src any) error { return scan(id.form(), id, src) }

// AppendText implements [encoding.TextAppender] and does not allocate.
func (id Of[T]) AppendText(dst []byte) ([]byte, error) { return ID(id).AppendText(dst) }

// MarshalText implements [encoding.TextMarshaler] with decimal text.
func (id Of[T]) MarshalText() ([]byte, error) { return ID(id).MarshalText() }

// UnmarshalText implements [encoding.TextUnmarshaler]; see [Parse].
func (id *Of[T]) UnmarshalText(text []byte) error { return set(id.form(), id, text) }

// UnmarshalParam serves gin and echo as [ID.UnmarshalParam] does.
func (id *Of[T]) UnmarshalParam(param string) error { return set(id.form(), id, param) }

// MarshalJSON implements [encoding/json.Marshaler] as [ID.MarshalJSON] does.
func (id Of[T]) MarshalJSON() ([]byte, error) { return ID(id).MarshalJSON() }

// UnmarshalJSON implements [encoding/json.Unmarshaler] as [ID.UnmarshalJSON] does.
func (id *Of[T]) UnmarshalJSON(data []byte) error { return unmarshalJSON(id.form(), id, data) }

// MarshalGQL writes a GraphQL string.
func (id Of[T]) MarshalGQL(w io.Writer) { ID(id).MarshalGQL(w) }

// UnmarshalGQL takes a GraphQL string or integer; nil changes nothing.
func (id *Of[T]) UnmarshalGQL(v any) error { return unmarshalGQL(id.form(), id, v) }

// LogValue implements [slog.LogValuer] with a string.
func (id Of[T]) LogValue() slog.Value { return ID(id).LogValue() }

// GormDataType tells GORM's migrator the column type.
func (Of[T]) GormDataType() string { return "bigint" }
