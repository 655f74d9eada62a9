package catalog

import (
	"fmt"
	"math/big"
)

// A number is a whole number that int64 may not hold.
type number struct{ big.Int }

func newNumber(n int64) *number {
	var number number
	number.SetInt64(n)
	return &number
}

// parseNumber reads what a database writes.
func parseNumber(text string) (*number, error) {
	var n number
	if _, ok := n.SetString(text, 10); !ok {
		return nil, fmt.Errorf("catalog: the counter %q is not a whole number", text)
	}
	return &n, nil
}

// text returns the decimal, or nothing of no number.
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
