package public

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"math/bits"

	"github.com/snowkey-go/snowkey/schema/pk/internal/radix"
)

// A block has 128 bits, which are 22 digits of base62: 2 + 10 + 10, because the number
// that 10 digits can spell fits into 64 bits.
const (
	digitsLen = 22
	part      = 10
	partSize  = 839299365868340224 // 62^10
)

var base62 = radix.New("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")

// seal encrypts an id and a tag, and appends the 22 digits of the block.
func seal(dst []byte, b cipher.Block, id, tag uint64) []byte {
	start := len(dst)
	var zeros [digitsLen]byte
	dst = append(dst, zeros[:]...)
	block := dst[start : start+aes.BlockSize]
	binary.BigEndian.PutUint64(block, id)
	binary.BigEndian.PutUint64(block[8:], tag)
	b.Encrypt(block, block)

	high, low := binary.BigEndian.Uint64(block), binary.BigEndian.Uint64(block[8:])
	high, low, last := divide(high, low)
	_, first, middle := divide(high, low)
	dst = base62.Append(dst[:start], first, digitsLen-2*part)
	dst = base62.Append(dst, middle, part)
	return base62.Append(dst, last, part)
}

// divide divides a number of 128 bits by partSize.
func divide(high, low uint64) (quotientHigh, quotientLow, rest uint64) {
	quotientHigh, rest = high/partSize, high%partSize
	quotientLow, rest = bits.Div64(rest, low, partSize)
	return quotientHigh, quotientLow, rest
}

// open is the inverse of seal. It returns ok = false if the text isn't 22 digits that
// spell a number of 128 bits. Otherwise it is for the caller to check the tag.
func open[S string | []byte](b cipher.Block, s S) (id, tag uint64, ok bool) {
	high, low, digits, fits := radix.Parse(base62, s)
	if len(s) != digitsLen || !digits || !fits {
		return 0, 0, false
	}
	var block [aes.BlockSize]byte
	binary.BigEndian.PutUint64(block[:], high)
	binary.BigEndian.PutUint64(block[8:], low)
	b.Decrypt(block[:], block[:])
	return binary.BigEndian.Uint64(block[:]), binary.BigEndian.Uint64(block[8:]), true
}
