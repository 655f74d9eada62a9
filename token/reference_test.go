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

// A reference is a second implementation of the format, which is slow and simple. Its
// fields from lateExpiry on are defects that the properties must catch.
type reference struct {
	keys    string // as for token.ParseKeys
	purpose string
	ids     func() int64
	clock   func() time.Time

	uncoveredExpiry   bool // the MAC does not cover the expiry
	uncoveredKey      bool // the MAC does not cover the id of the key
	shortMAC          bool // compares the first 4 bytes of the MAC
	missingMAC        bool // compares as many bytes of the MAC as there are
	anyKey            bool // ignores the id of the key and tries all
	removedKeys       bool // accepts keys that were removed
	anyPurpose        bool // the MAC does not cover the purpose
	expiryFirst       bool // looks at the expiry before the MAC
	inclusiveExpiry   bool // accepts a token in the millisecond in which it expires
	lenient           bool // ignores white space and upper case in the prefix
	alphabetOfBase64  bool // does not sort
	withoutRandomBits bool
	sameRandomBits    bool // has random bits that repeat
}

const (
	sorted   = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
	unsorted = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
)

func (r *reference) alphabet() string {
	if r.alphabetOfBase64 {
		return unsorted
	}
	return sorted
}

// encode writes bytes as digits of 6 bits.
func encode(alphabet string, b []byte) string {
	var text strings.Builder
	bits, n := uint32(0), 0
	for _, each := range b {
		bits, n = bits<<8|uint32(each), n+8
		for ; n >= 6; n -= 6 {
			text.WriteByte(alphabet[bits>>(n-6)&63])
		}
	}
	return text.String()
}

// decode is the inverse of encode for multiples of 3 bytes.
func decode(alphabet, text string) (b []byte, ok bool) {
	bits, n := uint32(0), 0
	for i := range len(text) {
		digit := strings.IndexByte(alphabet, text[i])
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

// removed has the secrets of all keys that a reference with removedKeys has seen.
var removed = map[byte][][]byte{}

func (r *reference) secrets(id byte) (secrets [][]byte) {
	for each := range strings.SplitSeq(r.keys, ",") {
		key, secret, _ := strings.Cut(each, ":")
		n, _ := strconv.Atoi(key)
		b, _ := hex.DecodeString(secret)
		if byte(n) == id || r.anyKey {
			secrets = append(secrets, b)
		}
		if r.removedKeys {
			removed[byte(n)] = append(removed[byte(n)], b)
		}
	}
	if r.removedKeys {
		return removed[id]
	}
	return secrets
}

func (r *reference) mac(secret, body []byte) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte("st1_"))
	switch {
	case r.uncoveredExpiry:
		h.Write(body[:24])
		h.Write(body[30:])
	case r.uncoveredKey:
		h.Write(body[:30])
	default:
		h.Write(body)
	}
	if !r.anyPurpose {
		h.Write([]byte(r.purpose))
	}
	return h.Sum(nil)
}

func (r *reference) issue(ttl time.Duration) (string, error) {
	first, _, _ := strings.Cut(r.keys, ":")
	key, _ := strconv.Atoi(first)
	random := make([]byte, 16)
	switch {
	case r.sameRandomBits:
		random = []byte("sixteen bytes...")
	case !r.withoutRandomBits:
		rand.Read(random)
	}
	body := binary.BigEndian.AppendUint64(nil, uint64(r.ids()))
	body = append(body, random...)
	body = append(body, binary.BigEndian.AppendUint64(nil, uint64(r.clock().Add(ttl).UnixMilli()))[2:]...)
	body = append(body, byte(key))
	return "st1_" + encode(r.alphabet(), append(body, r.mac(r.secrets(byte(key))[0], body)...)), nil
}

func (r *reference) verify(text string) (id int64, expires time.Time, err error) {
	if r.lenient {
		text = strings.Join(strings.Fields(text), "")
		text = strings.ToLower(text[:min(4, len(text))]) + text[min(4, len(text)):]
	}
	digits, ok := strings.CutPrefix(text, "st1_")
	b, decoded := decode(r.alphabet(), digits)
	if !ok || !decoded || len(b) != 63 && (!r.missingMAC || len(b) < 31) {
		return 0, time.Time{}, token.ErrInvalid
	}
	body, mac := b[:31], b[31:]
	id = int64(binary.BigEndian.Uint64(body))
	ms := int64(binary.BigEndian.Uint64(append([]byte{0, 0}, body[24:30]...)))
	now := r.clock().UnixMilli()
	expired := ms < now || ms == now && !r.inclusiveExpiry
	if r.expiryFirst && expired {
		return 0, time.Time{}, token.ErrExpired
	}
	genuine := false
	for _, secret := range r.secrets(body[30]) {
		want := r.mac(secret, body)
		switch {
		case r.shortMAC:
			want, mac = want[:4], mac[:4]
		case r.missingMAC:
			want = want[:len(mac)]
		}
		genuine = genuine || string(want) == string(mac)
	}
	if !genuine {
		return 0, time.Time{}, token.ErrInvalid
	}
	if expired {
		return 0, time.Time{}, token.ErrExpired
	}
	return id, time.UnixMilli(ms).UTC(), nil
}

// errAccepted is returned by properties for a token that should not be accepted.
var errAccepted = errors.New("a token is accepted that nobody issued")
