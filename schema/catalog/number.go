package catalog

import (
	"fmt"
	"math/big"
	"strings"
)

// A Number is a whole number that int64 may not hold: MySQL counts to 2^64-1. Its
// JSON is a string, because JavaScript rounds above 2^53.
type Number struct{ big.Int }

func number(n int64) *Number {
	var number Number
	number.SetInt64(n)
	return &number
}

// parseNumber reads what a database writes.
func parseNumber(text string) (*Number, error) {
	var n Number
	if _, ok := n.SetString(text, 10); !ok {
		return nil, fmt.Errorf("catalog: the counter %q is not a whole number", text)
	}
	return &n, nil
}

// MarshalJSON implements json.Marshaler.
func (n *Number) MarshalJSON() ([]byte, error) { return []byte(`"` + n.String() + `"`), nil }

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(data []byte) error {
	parsed, err := parseNumber(strings.Trim(string(data), `"`))
	if err == nil {
		n.Set(&parsed.Int)
	}
	return err
}

// less returns the smaller number.
func less(a, b *Number) *Number {
	if a.Cmp(&b.Int) <= 0 {
		return a
	}
	return b
}
