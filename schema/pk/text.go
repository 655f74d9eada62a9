package pk

import (
	"database/sql/driver"
	"io"
	"log/slog"
)

// A Text is a key stored as decimal in a text column, such as VARCHAR(20).
//
// It's meant for tables that already store their keys this way. An [ID] could scan such a
// column too, but might match the wrong rows in a WHERE clause (see the package
// documentation). If you care about order, use [SortText]: numbers with a different
// number of digits don't sort correctly as decimal text.
//
// The zero value is 0. Values are safe for concurrent use.
type Text int64

var textForm = form{name: "pk.Text", textual: true}

// ID returns the same key for a BIGINT column.
func (t Text) ID() ID { return ID(t) }

// Int64 returns the number.
func (t Text) Int64() int64 { return int64(t) }

// IsZero reports whether the key is 0.
func (t Text) IsZero() bool { return t == 0 }

// String returns the number in decimal.
func (t Text) String() string { return textForm.string(int64(t)) }

// Value implements [driver.Valuer] and returns decimal text as a string.
func (t Text) Value() (driver.Value, error) { return t.String(), nil }

// Scan implements [database/sql.Scanner]. It accepts everything [ID.Scan] does, and
// ignores the trailing blanks that Postgres returns from a CHAR column.
func (t *Text) Scan(src any) error { return scan(&textForm, t, src) }

// AppendText implements [encoding.TextAppender] and does not allocate.
func (t Text) AppendText(dst []byte) ([]byte, error) { return textForm.appendText(dst, int64(t)) }

// MarshalText implements [encoding.TextMarshaler]. It writes decimal text.
func (t Text) MarshalText() ([]byte, error) { return textForm.text(int64(t)) }

// UnmarshalText implements [encoding.TextUnmarshaler]; see [Parse].
func (t *Text) UnmarshalText(text []byte) error { return set(&textForm, t, text) }

// UnmarshalParam implements the binder interfaces of gin and echo; see
// [ID.UnmarshalParam].
func (t *Text) UnmarshalParam(param string) error { return set(&textForm, t, param) }

// MarshalJSON implements [encoding/json.Marshaler]; see [ID.MarshalJSON].
func (t Text) MarshalJSON() ([]byte, error) { return textForm.json(int64(t)) }

// UnmarshalJSON implements [encoding/json.Unmarshaler]; see [ID.UnmarshalJSON].
func (t *Text) UnmarshalJSON(data []byte) error { return unmarshalJSON(&textForm, t, data) }

// MarshalGQL writes a GraphQL string.
func (t Text) MarshalGQL(w io.Writer) { textForm.graphQL(w, int64(t)) }

// UnmarshalGQL accepts a GraphQL string or integer. nil leaves the key unchanged.
func (t *Text) UnmarshalGQL(v any) error { return unmarshalGQL(&textForm, t, v) }

// LogValue implements [slog.LogValuer] and returns a string.
func (t Text) LogValue() slog.Value { return textForm.log(int64(t)) }

// GormDataType returns the column type for GORM's migrator. Tag the field with
// `gorm:"size:20"` as well. GORM would otherwise take a size of 64 from the underlying
// int64, and alter the column on every AutoMigrate.
func (Text) GormDataType() string { return "varchar(20)" }
