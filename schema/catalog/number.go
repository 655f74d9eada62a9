package catalog

import (
	"fmt"
	"math/big"
)

// A number is an integer that may not fit in an int64, such as 2^64-1 on MySQL.
type number struct{ big.Int }

func newNumber(n int64) *number {
	var number number
	number.SetInt64(n)
	return &number
}

// parseNumber parses decimal text from a database.
func parseNumber(text string) (*number, error) {
	var n number
	if _, ok := n.SetString(text, 10); !ok {
		return nil, fmt.Errorf("catalog: the counter %q is not a whole number", text)
	}
	return &n, nil
}

// text returns the number in decimal, or "" if there is none.
func (n *number) text() string {
	if n == nil {
		return ""
	}
	return n.String()
}

// less returns the smaller number.
func less(a, b *number) *number {
	if a.Cmp(&b.Int) <= 0 {
		return a
	}
	return b
}
