// Package radix writes numbers with the digits of an alphabet, always in the same width.
package radix

import (
	"math/bits"
	"strings"
)

// Digits is an alphabet. A character's place in it is its value as a digit. Digits are
// safe for concurrent use.
type Digits struct {
	alphabet string
	values   [256]int8 // -1 for bytes that aren't in the alphabet
}

// New returns the digits of an alphabet, which must be ASCII without repetitions.
func New(alphabet string) *Digits {
	d := &Digits{alphabet: alphabet}
	for i := range d.values {
		d.values[i] = int8(strings.IndexByte(alphabet, byte(i)))
	}
	return d
}

// Values returns the values of all bytes, -1 for those that aren't in the alphabet. The
// caller must not change them.
func (d *Digits) Values() *[256]int8 { return &d.values }

// Append appends the last digits of n, as many as width says. A number that is shorter
// gets leading zeros.
func (d *Digits) Append(dst []byte, n uint64, width int) []byte {
	base := uint64(len(d.alphabet))
	dst = append(dst, make([]byte, width)...)
	shift := bits.TrailingZeros64(base)
	for i := len(dst) - 1; i >= len(dst)-width; i-- {
		digit, rest := n&(base-1), n>>shift // takes a tenth of the time of a division
		if base != 1<<shift {
			digit, rest = n%base, n/base
		}
		dst[i], n = d.alphabet[digit], rest
	}
	return dst
}

// Parse returns the number that s spells, as two times 64 bits. It reports whether all bytes
// are digits, and whether the number fits into 128 bits.
func Parse[S string | []byte](d *Digits, s S) (high, low uint64, digits, fits bool) {
	base := uint64(len(d.alphabet))
	var c, over uint64
	for i := range len(s) {
		v := d.values[s[i]]
		if v < 0 {
			return 0, 0, false, false
		}
		above, upper := bits.Mul64(high, base)
		carry, lower := bits.Mul64(low, base)
		low, c = bits.Add64(lower, uint64(v), 0)
		high, c = bits.Add64(upper, carry, c)
		over |= above | c
	}
	return high, low, true, over == 0
}
