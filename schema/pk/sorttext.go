package pk

import (
	"database/sql/driver"
	"io"
	"log/slog"
)

// A SortText is a key in a CHAR(13) column, in a text format that sorts in key order:
// Crockford base32 in upper case. Even without such a column, SortText(id).String() can
// be useful as a short form for people and in URLs.
//
// The order holds from 0 to MaxInt64 under any collation that puts digits before letters
// and A before Z (all common ones do). Writing a negative number returns an error.
//
// The zero value is 0. Values are safe for concurrent use.
type SortText int64

var sortForm = form{name: "pk.SortText", textual: true, digits: &base32}

// ParseSort parses sortable text. It only accepts the exact output of [SortText.String];
// lower case and the aliases I, L and O are errors. The error is an [*Error].
func ParseSort(s string) (SortText, error) { return parseAs[SortText](&sortForm, s) }

// ID returns the same key for a BIGINT column.
func (t SortText) ID() ID { return ID(t) }

// Int64 returns the number.
func (t SortText) Int64() int64 { return int64(t) }

// IsZero reports whether the key is 0.
func (t SortText) IsZero() bool { return t == 0 }

// String returns the 13 characters. Negative numbers are written in decimal, which
// [ParseSort] won't accept.
func (t SortText) String() string { return sortForm.string(int64(t)) }

// Value implements [driver.Valuer] and returns the 13 characters as a string.
func (t SortText) Value() (driver.Value, error) {
	if sortForm.lacks(int64(t)) {
		return nil, sortForm.refuse(int64(t), reasonNegative)
	}
	return t.String(), nil
}

// Scan implements [database/sql.Scanner]. It accepts everything [ID.Scan] does, but text
// has to be in the sortable format. Trailing blanks (from a wider CHAR column) are
// ignored.
func (t *SortText) Scan(src any) error { return scan(&sortForm, t, src) }

// AppendText implements [encoding.TextAppender] and does not allocate.
func (t SortText) AppendText(dst []byte) ([]byte, error) { return sortForm.appendText(dst, int64(t)) }

// MarshalText implements [encoding.TextMarshaler]. It writes the 13 characters.
func (t SortText) MarshalText() ([]byte, error) { return sortForm.text(int64(t)) }

// UnmarshalText implements [encoding.TextUnmarshaler]; see [ParseSort].
func (t *SortText) UnmarshalText(text []byte) error { return set(&sortForm, t, text) }

// UnmarshalParam implements the binder interfaces of gin and echo; see
// [ID.UnmarshalParam]. Without it, gin would treat a key whose 13 characters happen to be
// digits as decimal, and end up with a different number.
func (t *SortText) UnmarshalParam(param string) error { return set(&sortForm, t, param) }

// MarshalJSON implements [encoding/json.Marshaler]. It writes the 13 characters.
func (t SortText) MarshalJSON() ([]byte, error) { return sortForm.json(int64(t)) }

// UnmarshalJSON implements [encoding/json.Unmarshaler]. It accepts an integer, or a
// string with the 13 characters. null leaves the key unchanged.
//
// Don't give a SortText the "string" option in its json tag. That option strips the
// quotes, and without them UnmarshalJSON can't tell an integer from the sortable format.
func (t *SortText) UnmarshalJSON(data []byte) error { return unmarshalJSON(&sortForm, t, data) }

// MarshalGQL writes a GraphQL string. A negative number is written in decimal.
func (t SortText) MarshalGQL(w io.Writer) { sortForm.graphQL(w, int64(t)) }

// UnmarshalGQL accepts the 13 characters or an integer. nil leaves the key unchanged.
func (t *SortText) UnmarshalGQL(v any) error { return unmarshalGQL(&sortForm, t, v) }

// LogValue implements [slog.LogValuer] and returns a string.
func (t SortText) LogValue() slog.Value { return sortForm.log(int64(t)) }

// GormDataType returns the column type for GORM's migrator. Tag the field with
// `gorm:"size:13"` as well; [Text.GormDataType] explains why.
func (SortText) GormDataType() string { return "char(13)" }
