package public

import (
	"database/sql/driver"
	"fmt"
	"io"
	"log/slog"
	"reflect"

	"github.com/snowkey-go/snowkey/schema/pk"
)

// ID[T] is the key of a T in a BIGINT column. Outside your program it's a public id,
// written and read by the [Default] codec:
//
//	type User struct{ ID public.ID[User] }
//
//	func (User) Prefix() string { return "user" }
//
// As with [pk.Of], the compiler won't let you mix up keys of different entities. You can
// convert any integer key using public.ID[User](n); the methods ID and Int64 convert it
// back.
//
// JSON, text, forms, URLs, GraphQL, fmt and log/slog only ever show the public id, never
// the number. (The exceptions are fmt verbs like %d and %x.) Avoid storing JSON written by
// these methods: once you've replaced the encryption key, you can't read it anymore.
//
// T only contributes its prefix, and must not be an interface. The zero value is 0, which
// is written like any other number. Values are safe for concurrent use.
type ID[T pk.Prefixer] int64

func entity[T pk.Prefixer]() string {
	var t T
	return t.Prefix()
}

// ParseID returns the key of a public id. The error is an [*Error] or [ErrNoCodec].
func ParseID[T pk.Prefixer](s string) (ID[T], error) {
	var id ID[T]
	err := set(&id, s)
	return id, err
}

func set[T pk.Prefixer, S string | []byte](dst *ID[T], text S) error {
	n, err := decode(Default(), entity[T](), text)
	if err == nil {
		*dst = ID[T](n)
	}
	return err
}

// ID returns the same key without its entity.
func (id ID[T]) ID() pk.ID { return pk.ID(id) }

// Int64 returns the number.
func (id ID[T]) Int64() int64 { return int64(id) }

// IsZero reports whether the key is 0. ORMs use it, and so does omitzero.
func (id ID[T]) IsZero() bool { return id == 0 }

// String returns the public id. Without a codec, you get a text saying so, which
// [ParseID] won't accept.
func (id ID[T]) String() string {
	var buf [Length]byte
	text, err := id.AppendText(buf[:0])
	if err != nil {
		return "!(" + err.Error() + ")"
	}
	return string(text)
}

// Value implements [driver.Valuer] and returns an int64, even for 0.
func (id ID[T]) Value() (driver.Value, error) { return int64(id), nil }

// Scan implements [database/sql.Scanner]. It accepts everything [pk.ID.Scan] does, plus
// an ID[T] or *ID[T]. Public ids are not accepted, because columns contain numbers. The
// error is a [*pk.Error].
func (id *ID[T]) Scan(src any) error {
	switch v := src.(type) {
	case ID[T]:
		src = int64(v)
	case *ID[T]:
		src = nil
		if v != nil {
			src = int64(*v)
		}
	}
	var key pk.ID
	err := key.Scan(src)
	if e, ok := err.(*pk.Error); ok {
		e.Type = fmt.Sprintf("public.ID[%s]", reflect.TypeFor[T]())
		return e
	}
	*id = ID[T](key)
	return nil
}

// AppendText implements [encoding.TextAppender]. The only error is [ErrNoCodec].
func (id ID[T]) AppendText(dst []byte) ([]byte, error) {
	return Default().Append(dst, entity[T](), int64(id))
}

// MarshalText implements [encoding.TextMarshaler]; see [ID.AppendText].
func (id ID[T]) MarshalText() ([]byte, error) { return id.AppendText(make([]byte, 0, Length)) }

// UnmarshalText implements [encoding.TextUnmarshaler]; see [ParseID].
func (id *ID[T]) UnmarshalText(text []byte) error { return set(id, text) }

// UnmarshalParam implements the binder interfaces of gin and echo; see
// [pk.ID.UnmarshalParam].
func (id *ID[T]) UnmarshalParam(param string) error { return set(id, param) }

// MarshalJSON implements [encoding/json.Marshaler]. It writes a JSON string; see
// [ID.AppendText].
func (id ID[T]) MarshalJSON() ([]byte, error) {
	dst, err := id.AppendText(append(make([]byte, 0, Length+2), '"'))
	if err != nil {
		return nil, err
	}
	return append(dst, '"'), nil
}

// UnmarshalJSON implements [encoding/json.Unmarshaler]. It accepts a string without
// escapes but no numbers. null leaves the key unchanged.
func (id *ID[T]) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	if last := len(data) - 1; last > 0 && data[0] == '"' && data[last] == '"' {
		return set(id, data[1:last])
	}
	return refuse(entity[T](), data)
}

// MarshalGQL writes a GraphQL string, or null if there is no codec.
func (id ID[T]) MarshalGQL(w io.Writer) {
	text, err := id.MarshalJSON()
	if err != nil {
		text = []byte("null")
	}
	_, _ = w.Write(text)
}

// UnmarshalGQL accepts a GraphQL string but no numbers. nil leaves the key unchanged.
func (id *ID[T]) UnmarshalGQL(v any) error {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return set(id, v)
	case ID[T]: // generated code has already parsed the text
		*id = v
		return nil
	case *ID[T]:
		if v != nil {
			*id = *v
		}
		return nil
	default:
		return refuse(entity[T](), fmt.Sprint(v))
	}
}

// LogValue implements [slog.LogValuer] and returns the public id. To log the number, pass
// id.ID().
func (id ID[T]) LogValue() slog.Value { return slog.StringValue(id.String()) }

// GormDataType returns the column type for GORM's migrator.
func (ID[T]) GormDataType() string { return "bigint" }
