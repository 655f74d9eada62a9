package token_test

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/token"
)

// A reference is a second implementation of the format, which is slow and simple.
type reference struct {
	keys    string // as for token.ParseKeys
	purpose string
	ids     func() int64
	clock   func() time.Time
}

const sorted = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

// encode writes bytes as digits of 6 bits.
func encode(b []byte) string {
	var text strings.Builder
	bits, n := uint32(0), 0
	for _, each := range b {
		bits, n = bits<<8|uint32(each), n+8
		for ; n >= 6; n -= 6 {
			text.WriteByte(sorted[bits>>(n-6)&63])
		}
	}
	return text.String()
}

// decode is the inverse of encode for multiples of 3 bytes.
func decode(text string) (b []byte, ok bool) {
	bits, n := uint32(0), 0
	for i := range len(text) {
		digit := strings.IndexByte(sorted, text[i])
		if digit < 0 {
			return nil, false
		}
		bits, n = bits<<6|uint32(digit), n+6
		if n >= 8 {
			b, n = append(b, byte(bits>>(n-8))), n-8
		}
	}
	return b, n == 0
}

// secret returns the secret of a key, or nil if there is no such key.
func (r *reference) secret(id byte) []byte {
	for each := range strings.SplitSeq(r.keys, ",") {
		key, secret, _ := strings.Cut(each, ":")
		if n, _ := strconv.Atoi(key); byte(n) == id {
			b, _ := hex.DecodeString(secret)
			return b
		}
	}
	return nil
}

func (r *reference) mac(secret, body []byte) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte("st1_"))
	h.Write(body)
	h.Write([]byte(r.purpose))
	return h.Sum(nil)
}

func (r *reference) issue(ttl time.Duration) (string, error) {
	first, _, _ := strings.Cut(r.keys, ":")
	key, _ := strconv.Atoi(first)
	random := make([]byte, 16)
	rand.Read(random)
	body := binary.BigEndian.AppendUint64(nil, uint64(r.ids()))
	body = append(body, random...)
	body = append(body, binary.BigEndian.AppendUint64(nil, uint64(r.clock().Add(ttl).UnixMilli()))[2:]...)
	body = append(body, byte(key))
	return "st1_" + encode(append(body, r.mac(r.secret(byte(key)), body)...)), nil
}

func (r *reference) verify(text string) (id int64, expires time.Time, err error) {
	digits, ok := strings.CutPrefix(text, "st1_")
	b, decoded := decode(digits)
	if !ok || !decoded || len(b) != 63 {
		return 0, time.Time{}, token.ErrInvalid
	}
	body, mac := b[:31], b[31:]
	id = int64(binary.BigEndian.Uint64(body))
	ms := int64(binary.BigEndian.Uint64(append([]byte{0, 0}, body[24:30]...)))
	now := r.clock().UnixMilli()
	secret := r.secret(body[30])
	if secret == nil || string(r.mac(secret, body)) != string(mac) {
		return 0, time.Time{}, token.ErrInvalid
	}
	if ms <= now {
		return 0, time.Time{}, token.ErrExpired
	}
	return id, time.UnixMilli(ms).UTC(), nil
}

// errAccepted is returned by properties for a token that should not be accepted.
var errAccepted = errors.New("a token is accepted that nobody issued")
