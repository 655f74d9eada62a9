package pk

import (
	"encoding/json"
	"math"
	"strings"
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

// parse reads text in the form's only spelling of a number. The reason says
// what is wrong, and is empty when all is well.
func parse[S string | []byte](f form, s S) (n int64, reason string) {
	if f.sortable {
		return parseSortable(s)
	}
	return parseDecimal(s)
}

func parseDecimal[S string | []byte](s S) (int64, string) {
	limit, digits := uint64(math.MaxInt64), s
	if len(s) > 0 && s[0] == '-' {
		limit, digits = limit+1, s[1:]
	}
	if len(digits) == 0 || digits[0] == '0' && len(s) > 1 {
		return 0, reasonDecimal
	}
	var n uint64
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

func parseSortable[S string | []byte](s S) (int64, string) {
	if len(s) != sortLen {
		return 0, reasonSortable
	}
	var n int64
	for i := range sortLen {
		switch d := valueOf[s[i]]; {
		case d < 0 && 'a' <= s[i] && s[i] <= 'z':
			return 0, reasonCase
		case d < 0:
			return 0, reasonSortable
		case i == 0 && d > 7:
			return 0, reasonRange
		default:
			n = n<<5 | int64(d)
		}
	}
	return n, ""
}

// valueOf is the alphabet turned round; -1 marks what is not in it.
var valueOf = func() (values [256]int8) {
	for i := range values {
		values[i] = int8(strings.IndexByte(alphabet, byte(i)))
	}
	return values
}()

// set is parse with a destination and an error.
func set[K ~int64, S string | []byte](f form, dst *K, s S) error {
	n, reason := parse(f, s)
	if reason != "" {
		return f.refuse(s, reason)
	}
	*dst = K(n)
	return nil
}

// scan takes what database drivers deliver, and keys of its own type or ID.
// It refuses a typed key of another entity.
func scan[K ~int64](f form, dst *K, src any) error {
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
		n, reason = parse(f, unpad(f, v))
	case []byte:
		n, reason = parse(f, unpad(f, v))
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

// unpad drops the blanks with which Postgres fills a CHAR(n) column.
func unpad[S string | []byte](f form, s S) S {
	if f.textual {
		for len(s) > 0 && s[len(s)-1] == ' ' {
			s = s[:len(s)-1]
		}
	}
	return s
}

// unmarshalJSON sees one JSON value without surrounding space. An integer
// literal of JSON is our decimal text, "-0" apart.
func unmarshalJSON[K ~int64](f form, dst *K, data []byte) error {
	if string(data) == "null" {
		return nil
	}
	if last := len(data) - 1; last > 0 && data[0] == '"' && data[last] == '"' {
		return set(f, dst, data[1:last])
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

// unmarshalGQL takes what GraphQL servers make of a literal or a variable.
func unmarshalGQL[K ~int64](f form, dst *K, v any) error {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return set(f, dst, v)
	case json.Number:
		return unmarshalJSON(f, dst, []byte(v))
	case int:
		return scan(f, dst, int64(v))
	case int64:
		return scan(f, dst, v)
	// Keys are from generated code that has parsed the text already.
	case K, ID:
		return scan(f, dst, v)
	case *K:
		if v == nil {
			return nil
		}
		return scan(f, dst, *v)
	case *ID:
		if v == nil {
			return nil
		}
		return scan(f, dst, *v)
	default:
		return f.refuse(v, reasonJSON)
	}
}
