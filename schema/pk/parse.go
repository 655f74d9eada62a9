package pk

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"unicode"

	"github.com/snowkey-go/snowkey/schema/pk/internal/radix"
)

const (
	reasonDecimal  = `want plain decimal such as "1234567890123456789": digits only, no leading zero`
	reasonSortable = `want 13 characters of 0-9 A-Z without I, L, O and U, such as "128GGYHYYK08N"`
	reasonCase     = "sortable text is upper case; convert it where it enters your program"
	reasonRange    = "outside the range of int64; keys end at 9223372036854775807"
	reasonFloat    = "a float64 has lost digits above 2^53; select the column as BIGINT or text"
	reasonKind     = "want an int64, text or NULL"
	reasonJSON     = `want a JSON string or integer without fraction or exponent, such as "1234567890123456789"`
)

// parse parses text in the format of f. It returns a non-empty reason if the text is
// invalid.
func parse[S string | []byte](f *form, s S) (n int64, reason string) {
	switch {
	case f.prefixed:
		return parsePrefixed(f, s)
	case f.digits != nil:
		return parseDigits(f.digits, s)
	}
	return parseDecimal(s)
}

func parsePrefixed[S string | []byte](f *form, s S) (int64, string) {
	if !validPrefix(f.prefix) {
		return 0, reasonPrefix + quote(f.prefix)
	}
	after := len(f.prefix) + 1
	if len(s) < after || string(s[:after-1]) != f.prefix || s[after-1] != '_' {
		return 0, f.wantPrefix()
	}
	n, reason := parseDigits(f.digits, s[after:])
	if reason == reasonSortable {
		reason = "after the prefix, " + reason
	}
	return n, reason
}

// wantPrefix is the reason why a prefixed form rejects a number, or text with another
// prefix.
func (f *form) wantPrefix() string {
	return `want text with the prefix of this type, as in "` + f.prefix + `_128GGYHYYK08N"`
}

// parseDecimal takes a third of the time of strconv.ParseInt and a comparison with what
// strconv.FormatInt returns. That's a few percent of reading a row from MySQL, which sends text.
func parseDecimal[S string | []byte](s S) (int64, string) {
	limit, digits := uint64(math.MaxInt64), s
	if len(s) > 0 && s[0] == '-' {
		limit, digits = limit+1, s[1:]
	}
	if len(digits) == 0 || digits[0] == '0' && len(s) > 1 {
		return 0, reasonDecimal
	}
	n := uint64(0)
	for i := range len(digits) {
		d := digits[i] - '0'
		if d > 9 {
			return 0, reasonDecimal
		}
		if i == maxDecimal-1 {
			return 0, reasonRange
		}
		n = n*10 + uint64(d) // 19 digits fit in 64 bits
	}
	if n > limit {
		return 0, reasonRange
	}
	if len(digits) < len(s) {
		return -int64(n), ""
	}
	return int64(n), ""
}

func parseDigits[S string | []byte](d *digits, s S) (int64, string) {
	if len(s) != d.width {
		return 0, d.want
	}
	high, n, ok, _ := radix.Parse(d.Digits, s)
	switch {
	case !ok && d == &base32 && strings.ContainsFunc(string(s), unicode.IsLower):
		return 0, reasonCase
	case !ok:
		return 0, d.want
	case high != 0 || n > d.max:
		return 0, d.over
	}
	return int64(n), ""
}

// set parses s into dst. It returns an *Error and leaves dst unchanged if s is invalid.
func set[K ~int64, S string | []byte](f *form, dst *K, s S) error {
	n, reason := parse(f, s)
	if reason != "" {
		return f.refuse(s, reason)
	}
	*dst = K(n)
	return nil
}

func parseAs[K ~int64](f *form, s string) (key K, err error) {
	err = set(f, &key, s)
	return key, err
}

// scan stores src in dst. It accepts what database drivers deliver, as well as keys of
// dst's own type or of type ID, but not the typed key of another entity.
func scan[K ~int64](f *form, dst *K, src any) error {
	var n int64
	var reason string
	switch v := src.(type) {
	case nil:
	case int64:
		n = v
	case uint64: // MySQL's BIGINT UNSIGNED
		if n = int64(v); n < 0 {
			reason = reasonRange
		}
	case string:
		n, reason = parseColumn(f, v)
	case []byte:
		n, reason = parseColumn(f, v)
	case K:
		n = int64(v)
	case *K:
		if v != nil {
			n = int64(*v)
		}
	case ID:
		n = int64(v)
	case *ID:
		if v != nil {
			n = int64(*v)
		}
	case float64:
		reason = reasonFloat
	default:
		reason = reasonKind
	}
	if reason != "" {
		return f.refuse(src, reason)
	}
	*dst = K(n)
	return nil
}

// parseColumn parses text from a database. Postgres adds blanks to the text in a CHAR(n)
// column. Some drivers deliver a BIGINT as decimal text, which has no prefix.
func parseColumn[S string | []byte](f *form, s S) (n int64, reason string) {
	switch {
	case f.textual:
		for len(s) > 0 && s[len(s)-1] == ' ' {
			s = s[:len(s)-1]
		}
	case f.prefixed:
		if n, reason = parseDecimal(s); reason == "" {
			return n, ""
		}
	}
	return parse(f, s)
}

// unmarshalJSON decodes one JSON value without surrounding space. We can use
// parseDecimal here, because JSON spells its integers the way we spell decimal text.
// The exception is "-0", which isn't one of our spellings.
func unmarshalJSON[K ~int64](f *form, dst *K, data []byte) error {
	if string(data) == "null" {
		return nil
	}
	if last := len(data) - 1; last > 0 && data[0] == '"' && data[last] == '"' {
		return set(f, dst, data[1:last])
	}
	if f.prefixed {
		return f.refuse(data, f.wantPrefix())
	}
	n, reason := parseDecimal(data)
	if reason == reasonDecimal {
		reason = reasonJSON
	}
	if reason != "" {
		return f.refuse(data, reason)
	}
	*dst = K(n)
	return nil
}

// unmarshalGQL stores src in dst. It accepts the types that GraphQL servers decode a
// literal or a variable into.
func unmarshalGQL[K ~int64](f *form, dst *K, src any) error {
	switch v := src.(type) {
	case nil:
		return nil
	case string:
		return set(f, dst, v)
	case json.Number:
		return unmarshalJSON(f, dst, []byte(v))
	case int:
		return unmarshalGQL(f, dst, int64(v))
	case int64:
		if f.prefixed {
			return f.refuse(v, f.wantPrefix())
		}
	// Generated code passes a key if it has already parsed the text itself.
	case K, ID:
	case *K, *ID:
		if reflect.ValueOf(v).IsNil() {
			return nil
		}
	default:
		return f.refuse(v, reasonJSON)
	}
	return scan(f, dst, src)
}
