package pk

import (
	"database/sql/driver"
	"io"
	"log/slog"
)

// A String is a key in a BIGINT column, for structs whose key is a Go string. It holds
// decimal text but is sent to the database as an integer.
//
// The zero value "" stands for NULL: it's written as NULL in SQL and as null in JSON, and
// NULL is scanned as "". Thus a String, unlike an ID, can tell NULL from the number 0. A
// null in JSON leaves the key unchanged.
//
// Any other text has to pass [Parse] before it's written, so invalid keys never make it
// into the database. Values are safe for concurrent use.
type String string

var stringForm = form{name: "pk.String"}

// ID returns the number, or 0 for "". The error is an [*Error].
func (s String) ID() (ID, error) {
	if s == "" {
		return 0, nil
	}
	return parseAs[ID](&stringForm, string(s))
}

// IsZero reports whether the key is "" or "0".
func (s String) IsZero() bool { return s == "" || s == "0" }

// String returns the text without checking it.
func (s String) String() string { return string(s) }

// Value implements [driver.Valuer]. It returns an int64, or nil for "".
func (s String) Value() (driver.Value, error) {
	id, err := s.ID()
	if s == "" || err != nil {
		return nil, err
	}
	return int64(id), nil
}

// Scan implements [database/sql.Scanner]. It accepts everything [ID.Scan] does, except
// that nil becomes "".
func (s *String) Scan(src any) error {
	if id, ok := src.(*ID); src == nil || ok && id == nil {
		*s = ""
		return nil
	}
	var id ID
	return s.hold(&id, scan(&stringForm, &id, src))
}

// AppendText implements [encoding.TextAppender] and does not allocate.
func (s String) AppendText(dst []byte) ([]byte, error) {
	if _, err := s.ID(); err != nil {
		return dst, err
	}
	return append(dst, s...), nil
}

// MarshalText implements [encoding.TextMarshaler]. It returns the text as it is, or an
// error if that's not a valid key.
func (s String) MarshalText() ([]byte, error) {
	return s.AppendText(make([]byte, 0, maxDecimal))
}

// UnmarshalText implements [encoding.TextUnmarshaler]. It accepts what [Parse] does, plus
// empty text (which is what MarshalText writes for "").
func (s *String) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*s = ""
		return nil
	}
	var id ID
	return s.hold(&id, set(&stringForm, &id, text))
}

// UnmarshalParam implements the binder interfaces of gin and echo; see
// [ID.UnmarshalParam]. Empty text becomes "".
func (s *String) UnmarshalParam(param string) error { return s.UnmarshalText([]byte(param)) }

// MarshalJSON implements [encoding/json.Marshaler]. It writes a JSON string, or null
// for "".
func (s String) MarshalJSON() ([]byte, error) {
	id, err := s.ID()
	if err != nil {
		return nil, err
	}
	if s == "" {
		return []byte("null"), nil
	}
	return stringForm.json(int64(id))
}

// UnmarshalJSON implements [encoding/json.Unmarshaler]; see [ID.UnmarshalJSON].
func (s *String) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	var id ID
	return s.hold(&id, unmarshalJSON(&stringForm, &id, data))
}

// MarshalGQL writes a GraphQL string, or null if the text is not a key.
func (s String) MarshalGQL(w io.Writer) {
	text, err := s.MarshalJSON()
	if err != nil {
		text = []byte("null")
	}
	_, _ = w.Write(text)
}

// UnmarshalGQL accepts a GraphQL string or integer. nil leaves the key unchanged.
func (s *String) UnmarshalGQL(v any) error {
	switch own := v.(type) {
	case nil:
		return nil
	case String:
		v = string(own)
	case *String:
		if own == nil {
			return nil
		}
		v = string(*own)
	}
	var id ID
	return s.hold(&id, unmarshalGQL(&stringForm, &id, v))
}

// LogValue implements [slog.LogValuer] and returns the text.
func (s String) LogValue() slog.Value { return slog.StringValue(string(s)) }

// GormDataType returns the column type for GORM's migrator.
func (String) GormDataType() string { return "bigint" }

// hold sets s to the text of id, unless err is set. It returns err, which is the
// result of the function that stored the id, so callers can wrap that call in hold.
func (s *String) hold(id *ID, err error) error {
	if err == nil {
		*s = String(id.String())
	}
	return err
}
