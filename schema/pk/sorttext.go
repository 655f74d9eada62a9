package pk

import (
	"database/sql/driver"
	"io"
	"log/slog"
)

// A SortText is a key in a text column that sorts in the order of the keys. The column
// is a CHAR(13), and holds Crockford base32 in upper case. SortText(id).String() can
// also serve as a short form of any key, for people and in URLs.
//
// The order is preserved from 0 to MaxInt64 under every collation that sorts digits
// before letters and A before Z, which all common ones do. Writing a negative number
// returns an error.
//
// The zero value is 0. Values are safe for concurrent use.
type SortText int64

var sortForm = form{name: "pk.SortText", textual: true, sortable: true}

// ParseSort parses sortable text. It accepts only what [SortText.String] writes, so
// lower case and the aliases I, L and O are errors. The error is an [*Error].
func ParseSort(s string) (SortText, error) {
	var t SortText
	err := set(&sortForm, &t, s)
	return t, err
}

// ID returns the same key for a BIGINT column.
func (t SortText) ID() ID { return ID(t) }

// Int64 returns the number.
func (t SortText) Int64() int64 { return int64(t) }

// IsZero reports whether the key is 0.
func (t SortText) IsZero() bool { return t == 0 }

// String returns the 13 characters. For a negative number it returns decimal text,
// which [ParseSort] does not accept.
func (t SortText) String() string { return sortForm.string(int64(t)) }

// Value implements [driver.Valuer] and returns the 13 characters as a string.
func (t SortText) Value() (driver.Value, error) {
	if t < 0 {
		return nil, sortForm.refuse(int64(t), reasonNegative)
	}
	return t.String(), nil
}

// Scan implements [database/sql.Scanner]. It accepts everything [ID.Scan] does, except
// that text must be in the sortable format. Trailing blanks, which a wider CHAR column
// adds, are ignored.
func (t *SortText) Scan(src any) error { return scan(&sortForm, t, src) }

// AppendText implements [encoding.TextAppender] and does not allocate.
func (t SortText) AppendText(dst []byte) ([]byte, error) { return sortForm.appendText(dst, int64(t)) }

// MarshalText implements [encoding.TextMarshaler]. It writes the 13 characters.
func (t SortText) MarshalText() ([]byte, error) { return sortForm.text(int64(t)) }

// UnmarshalText implements [encoding.TextUnmarshaler]; see [ParseSort].
func (t *SortText) UnmarshalText(text []byte) error { return set(&sortForm, t, text) }

// UnmarshalParam implements the binder interfaces of gin and echo; see
// [ID.UnmarshalParam]. Without it, gin would parse a key whose 13 characters all happen
// to be digits as decimal, which is a different number.
func (t *SortText) UnmarshalParam(param string) error { return set(&sortForm, t, param) }

// MarshalJSON implements [encoding/json.Marshaler]. It writes the 13 characters.
func (t SortText) MarshalJSON() ([]byte, error) { return sortForm.json(int64(t)) }

// UnmarshalJSON implements [encoding/json.Unmarshaler]. It accepts either an integer or
// a string of the 13 characters. null leaves the key unchanged. Don't use the "string"
// option of a json tag with a SortText: it strips the quotes, and UnmarshalJSON needs
// them to tell the two apart.
func (t *SortText) UnmarshalJSON(data []byte) error { return unmarshalJSON(&sortForm, t, data) }

// MarshalGQL writes a GraphQL string. A negative number is written in decimal.
func (t SortText) MarshalGQL(w io.Writer) { sortForm.graphQL(w, int64(t)) }

// UnmarshalGQL accepts the 13 characters or an integer. nil leaves the key unchanged.
func (t *SortText) UnmarshalGQL(v any) error { return unmarshalGQL(&sortForm, t, v) }

// LogValue implements [slog.LogValuer] and returns a string.
func (t SortText) LogValue() slog.Value { return sortForm.log(int64(t)) }

// GormDataType returns the column type for GORM's migrator. The field should also be
// tagged `gorm:"size:13"`, for the reason given at [Text.GormDataType].
func (SortText) GormDataType() string { return "char(13)" }
