package pk

import (
	"database/sql/driver"
	"io"
	"log/slog"
)

// A SortText is a key in a text column whose texts sort in the order of the keys. The
// column is a CHAR(13) with Crockford's base32 in capitals. SortText(id).String() is
// also a short form of any key, for people and URLs.
//
// The order holds from 0 to MaxInt64 under every collation that puts digits before
// letters and A before Z, which all common ones do. Writing a negative number fails.
//
// The zero value is 0. Values are safe for concurrent use.
type SortText int64

var sortForm = form{name: "pk.SortText", textual: true, sortable: true}

// ParseSort parses sortable text. It accepts only the text that [SortText.String]
// writes, so lower case and the aliases I, L and O are errors. The error is an
// [*Error].
func ParseSort(s string) (SortText, error) {
	var t SortText
	err := set(sortForm, &t, s)
	return t, err
}

// ID returns the same key for a BIGINT column.
func (t SortText) ID() ID { return ID(t) }

// Int64 returns the number.
func (t SortText) Int64() int64 { return int64(t) }

// IsZero reports whether the key is 0.
func (t SortText) IsZero() bool { return t == 0 }

// String returns the 13 characters. It returns decimal text for a negative number,
// which [ParseSort] does not accept.
func (t SortText) String() string { return sortForm.string(int64(t)) }

// Value implements [driver.Valuer] with the 13 characters as a string.
func (t SortText) Value() (driver.Value, error) {
	if t < 0 {
		return nil, sortForm.refuse(int64(t), reasonNegative)
	}
	return t.String(), nil
}

// Scan implements [database/sql.Scanner]. It takes what [ID.Scan] takes, except that
// text must be in the sortable form. It ignores the trailing blanks of a wider CHAR
// column.
func (t *SortText) Scan(src any) error { return scan(sortForm, t, src) }

// AppendText implements [encoding.TextAppender] and does not allocate.
func (t SortText) AppendText(dst []byte) ([]byte, error) { return sortForm.appendText(dst, int64(t)) }

// MarshalText implements [encoding.TextMarshaler] with the 13 characters.
func (t SortText) MarshalText() ([]byte, error) { return sortForm.text(int64(t)) }

// UnmarshalText implements [encoding.TextUnmarshaler]; see [ParseSort].
func (t *SortText) UnmarshalText(text []byte) error { return set(sortForm, t, text) }

// UnmarshalParam serves gin and echo as [ID.UnmarshalParam] does. Without it, gin would
// parse a key whose 13 characters are all digits as decimal, and so get another number.
func (t *SortText) UnmarshalParam(param string) error { return set(sortForm, t, param) }

// MarshalJSON implements [encoding/json.Marshaler] with the 13 characters.
func (t SortText) MarshalJSON() ([]byte, error) { return sortForm.json(int64(t)) }

// UnmarshalJSON implements [encoding/json.Unmarshaler]. It takes the 13 characters as a
// string, or an integer; null changes nothing. Do not use the string option of a json
// tag, because it removes the quotes by which UnmarshalJSON distinguishes the two.
func (t *SortText) UnmarshalJSON(data []byte) error { return unmarshalJSON(sortForm, t, data) }

// MarshalGQL writes a GraphQL string, decimal if the number is negative.
func (t SortText) MarshalGQL(w io.Writer) { sortForm.graphQL(w, int64(t)) }

// UnmarshalGQL takes the 13 characters or an integer; nil changes nothing.
func (t *SortText) UnmarshalGQL(v any) error { return unmarshalGQL(sortForm, t, v) }

// LogValue implements [slog.LogValuer] with a string.
func (t SortText) LogValue() slog.Value { return sortForm.log(int64(t)) }

// GormDataType returns the column type for GORM's migrator. Tag the field
// `gorm:"size:13"` too, for the reason given at [Text.GormDataType].
func (SortText) GormDataType() string { return "char(13)" }
