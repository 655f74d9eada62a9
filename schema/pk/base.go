package pk

import (
	"math"

	"github.com/snowkey-go/snowkey/schema/pk/internal/radix"
)

// digits are those of a text form that isn't decimal. All of its texts have the same width.
type digits struct {
	*radix.Digits
	width int
	max   uint64 // the largest number
	want  string // the reason why other text is rejected
	over  string // the reason why text of a larger number is
}

var (
	base32 = digits{radix.New("0123456789ABCDEFGHJKMNPQRSTVWXYZ"), 13, math.MaxInt64, reasonSortable, reasonRange}

	hexForm = form{name: "pk.ID", digits: &digits{
		radix.New("0123456789abcdef"), 16, math.MaxUint64, "want 16 digits of hex in lower case: 0-9 and a-f", "",
	}}
	base58Form = form{name: "pk.ID", digits: &digits{
		radix.New("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"), 11, math.MaxUint64,
		"want 11 characters of Bitcoin's base58: 1-9, A-Z and a-z without I, O and l",
		`more than 64 bits; the largest text is "jpXCZedGfVQ"`,
	}}
	base62Form = form{name: "pk.ID", digits: &digits{
		radix.New("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"), 11, math.MaxUint64,
		"want 11 characters of base62: 0-9, A-Z and a-z",
		`more than 64 bits; the largest text is "LygHa16AHYF"`,
	}}
)

// FormatHex returns the key as 16 lower-case hex digits, the same as fmt's %016x for a
// uint64. Use [ParseHex] to get the key back.
func FormatHex(id ID) string { return hexForm.string(int64(id)) }

// ParseHex is the inverse of [FormatHex] and doesn't accept anything else. The error is
// an [*Error].
func ParseHex(s string) (ID, error) { return parseAs[ID](&hexForm, s) }

// FormatBase58 returns the key as 11 characters of base58. This is Bitcoin's alphabet,
// which avoids characters people mix up (0, O, I and l). Use [ParseBase58] to get the key
// back.
func FormatBase58(id ID) string { return base58Form.string(int64(id)) }

// ParseBase58 is the inverse of [FormatBase58] and doesn't accept anything else. The
// error is an [*Error].
func ParseBase58(s string) (ID, error) { return parseAs[ID](&base58Form, s) }

// FormatBase62 returns the key as 11 characters of base62: digits, then upper case, then
// lower case. Use [ParseBase62] to get the key back.
func FormatBase62(id ID) string { return base62Form.string(int64(id)) }

// ParseBase62 is the inverse of [FormatBase62] and doesn't accept anything else. The
// error is an [*Error].
func ParseBase62(s string) (ID, error) { return parseAs[ID](&base62Form, s) }
