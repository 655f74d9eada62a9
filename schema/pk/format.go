package pk

import (
	"io"
	"log/slog"
	"reflect"
	"strconv"
)

// A form describes how a type writes its number as text. The exported types differ only
// in their form and in what they send to the database, and share the code in this file
// and in parse.go.
type form struct {
	name     string       // the type, for errors
	entity   reflect.Type // the T of Of[T] and Prefixed[T], for errors; nil elsewhere
	digits   *digits      // nil for decimal
	textual  bool         // stored in a text column
	prefixed bool         // text begins with prefix and an underscore
	prefix   string
}

const (
	maxDecimal = len("-9223372036854775808")
	maxPrefix  = 63 // as in TypeID
)

const (
	reasonNegative = "sortable text has no negative numbers; store them with pk.ID or pk.Text"
	reasonPrefix   = "its Prefix must return 1 to 63 characters of a-z and _, beginning and ending with a letter, not "
)

func (f *form) appendText(dst []byte, n int64) ([]byte, error) {
	if f.lacks(n) {
		return dst, f.refuse(n, reasonNegative)
	}
	if f.prefixed && !validPrefix(f.prefix) {
		return dst, f.refuse(n, reasonPrefix+quote(f.prefix))
	}
	return f.append(dst, n), nil
}

// lacks reports whether no text spells n, as is the case for a negative number in a sortable form.
func (f *form) lacks(n int64) bool { return f.digits != nil && uint64(n) > f.digits.max }

func validPrefix(prefix string) bool {
	for i := range len(prefix) {
		inside := 0 < i && i < len(prefix)-1
		if c := prefix[i]; (c < 'a' || 'z' < c) && !(c == '_' && inside) {
			return false
		}
	}
	return 0 < len(prefix) && len(prefix) <= maxPrefix
}

// append appends n as text. Even in a sortable form, a negative number is written in
// decimal. That's readable, although the sortable form won't parse it.
func (f *form) append(dst []byte, n int64) []byte {
	if f.prefixed {
		dst = append(append(dst, f.prefix...), '_')
	}
	if f.digits == nil || f.lacks(n) {
		return strconv.AppendInt(dst, n, 10)
	}
	return f.digits.Append(dst, uint64(n), f.digits.width)
}

// buffer returns an empty slice with room for text in quotes.
func (f *form) buffer() []byte {
	return make([]byte, 0, len(f.prefix)+len("_")+maxDecimal+2)
}

func (f *form) text(n int64) ([]byte, error) { return f.appendText(f.buffer(), n) }

func (f *form) string(n int64) string {
	var buf [maxDecimal + 12]byte // prefixes are rarely longer
	return string(f.append(buf[:0], n))
}

func (f *form) json(n int64) ([]byte, error) {
	dst, err := f.appendText(append(f.buffer(), '"'), n)
	if err != nil {
		return nil, err
	}
	return append(dst, '"'), nil
}

// graphQL writes the same text as json, except for a negative number in a sortable
// form. Since gqlgen's interface gives us no way to return an error, we write it in
// decimal.
func (f *form) graphQL(w io.Writer, n int64) {
	dst := f.append(append(f.buffer(), '"'), n)
	_, _ = w.Write(append(dst, '"'))
}

// log returns a string, because most log stores read JSON numbers as float64.
func (f *form) log(n int64) slog.Value { return slog.StringValue(f.string(n)) }
