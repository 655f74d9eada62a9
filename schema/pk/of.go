package pk

import (
	"database/sql/driver"
	"io"
	"log/slog"
	"reflect"
)

// Of[T] is the key of a T in a BIGINT column. It works like an [ID], except that the
// compiler will reject another entity's key in its place.
//
//	type User struct{ ID pk.Of[User] }
//	type Post struct {
//		ID     pk.Of[Post]
//		Author pk.Of[User]
//	}
//
// T is only used as a name, and none of its fields are stored. It can be the struct the
// key belongs to, an interface, or an empty struct. The zero value is 0. Values are safe
// for concurrent use.
type Of[T any] int64

func (Of[T]) form() *form { return &form{name: "pk.Of", entity: reflect.TypeFor[T]()} }

// ParseOf parses decimal text, as [Parse] does.
func ParseOf[T any](s string) (Of[T], error) { return parseAs[Of[T]](Of[T](0).form(), s) }

// ID returns the same key without its entity.
func (id Of[T]) ID() ID { return ID(id) }

// Int64 returns the number.
func (id Of[T]) Int64() int64 { return int64(id) }

// IsZero reports whether the key is 0.
func (id Of[T]) IsZero() bool { return id == 0 }

// String returns the number in decimal.
func (id Of[T]) String() string { return ID(id).String() }

// Value implements [driver.Valuer] and returns an int64, even for 0.
func (id Of[T]) Value() (driver.Value, error) { return int64(id), nil }

// Scan implements [database/sql.Scanner]. On top of everything [ID.Scan] accepts, it
// takes an Of[T] or *Of[T], but not another entity's key.
func (id *Of[T]) Scan(src any) error { return scan(id.form(), id, src) }

// AppendText implements [encoding.TextAppender] and does not allocate.
func (id Of[T]) AppendText(dst []byte) ([]byte, error) { return ID(id).AppendText(dst) }

// MarshalText implements [encoding.TextMarshaler]. It writes decimal text.
func (id Of[T]) MarshalText() ([]byte, error) { return ID(id).MarshalText() }

// UnmarshalText implements [encoding.TextUnmarshaler]; see [Parse].
func (id *Of[T]) UnmarshalText(text []byte) error { return set(id.form(), id, text) }

// UnmarshalParam implements the binder interfaces of gin and echo; see
// [ID.UnmarshalParam].
func (id *Of[T]) UnmarshalParam(param string) error { return set(id.form(), id, param) }

// MarshalJSON implements [encoding/json.Marshaler]; see [ID.MarshalJSON].
func (id Of[T]) MarshalJSON() ([]byte, error) { return ID(id).MarshalJSON() }

// UnmarshalJSON implements [encoding/json.Unmarshaler]; see [ID.UnmarshalJSON].
func (id *Of[T]) UnmarshalJSON(data []byte) error { return unmarshalJSON(id.form(), id, data) }

// MarshalGQL writes a GraphQL string.
func (id Of[T]) MarshalGQL(w io.Writer) { ID(id).MarshalGQL(w) }

// UnmarshalGQL accepts a GraphQL string or integer. nil leaves the key unchanged.
func (id *Of[T]) UnmarshalGQL(v any) error { return unmarshalGQL(id.form(), id, v) }

// LogValue implements [slog.LogValuer] and returns a string.
func (id Of[T]) LogValue() slog.Value { return ID(id).LogValue() }

// GormDataType returns the column type for GORM's migrator.
func (Of[T]) GormDataType() string { return "bigint" }
