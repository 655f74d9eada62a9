package pk

import (
	"fmt"

	"github.com/snowkey-go/snowkey/schema/pk/internal/radix"
)

// A base is a text form that has functions, but no type.
type base struct {
	digits *radix.Digits
	width  int    // enough for 64 bits
	want   string // for errors
}

var (
	hex    = base{radix.New("0123456789abcdef"), 16, "want 16 digits of hex in lower case: 0-9 and a-f"}
	base58 = base{radix.New("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"), 11, "want 11 characters of Bitcoin's base58: 1-9, A-Z and a-z without I, O and l"}
	base62 = base{radix.New("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"), 11, "want 11 characters of base62: 0-9, A-Z and a-z"}
)

// FormatHex returns the key as 16 lower-case hex digits, the same as fmt's %016x for a
// uint64. Use [ParseHex] to get the key back.
func FormatHex(id ID) string { return hex.format(id) }

// ParseHex is the inverse of [FormatHex] and doesn't accept anything else. The error is
// an [*Error].
func ParseHex(s string) (ID, error) { return hex.parse(s) }

// FormatBase58 returns the key as 11 characters of base58. This is Bitcoin's alphabet,
// which avoids characters people mix up (0, O, I and l). Use [ParseBase58] to get the key
// back.
func FormatBase58(id ID) string { return base58.format(id) }

// ParseBase58 is the inverse of [FormatBase58] and doesn't accept anything else. The
// error is an [*Error].
func ParseBase58(s string) (ID, error) { return base58.parse(s) }

// FormatBase62 returns the key as 11 characters of base62: digits, then upper case, then
// lower case. Use [ParseBase62] to get the key back.
func FormatBase62(id ID) string { return base62.format(id) }

// ParseBase62 is the inverse of [FormatBase62] and doesn't accept anything else. The
// error is an [*Error].
func ParseBase62(s string) (ID, error) { return base62.parse(s) }

func (b base) format(id ID) string {
	var buf [16]byte
	return string(b.digits.Append(buf[:0], uint64(id), b.width))
}

func (b base) parse(s string) (ID, error) {
	if len(s) != b.width {
		return 0, idForm.refuse(s, b.want)
	}
	high, n, digits, _ := radix.Parse(b.digits, s)
	switch {
	case !digits:
		return 0, idForm.refuse(s, b.want)
	case high != 0:
		return 0, idForm.refuse(s, fmt.Sprintf("more than 64 bits; the largest text is %q", b.format(-1)))
	}
	return ID(n), nil
}
