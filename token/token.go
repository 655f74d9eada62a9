package token

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// A Token is a token that has been issued or verified. The zero Token isn't valid, and
// stores won't accept it.
//
// Tokens are immutable and safe for concurrent use. Printing, logging or JSON-encoding one
// doesn't reveal the text that authenticates the user.
type Token struct {
	// ID is the session's id. It isn't secret, so feel free to log it. It has the layout of
	// the pool it came from, and the time in it is when the session began.
	ID int64

	// Expires is when the token stops being valid, with a precision of 1 ms.
	Expires time.Time

	// Seen is when the token was issued or verified, by the signer's clock. Stores compare
	// it with the session's previous Seen.
	Seen time.Time

	// Idle is the signer's [Config.Idle], or 0 if there's no limit other than the expiry.
	Idle time.Duration

	// fmt prints the target of a pointer only at the top level, where it calls String. If a
	// Token is in an unexported field of a struct, fmt prints an address here.
	text *string

	unclaimed *atomic.Bool // nil if the token was verified
}

// Text returns the token as 88 characters, ready for a cookie. Treat it like a password:
// anybody who has it can use the session. The zero Token's text is empty.
func (t Token) Text() string {
	if t.text == nil {
		return ""
	}
	return *t.text
}

// Claim reports whether a session may begin with this token. It's true exactly once for a
// token from [Signer.Issue], and never for one from [Signer.Verify], which keeps ended
// sessions from starting again. Claim is called by a [Store] in Add, and isn't needed
// elsewhere.
func (t Token) Claim() bool { return t.unclaimed != nil && t.unclaimed.CompareAndSwap(true, false) }

// Hash returns the SHA-256 of Text in hex. This is what a [Store] keeps in place of the
// token.
func (t Token) Hash() string {
	sum := sha256.Sum256([]byte(t.Text()))
	return hex.EncodeToString(sum[:])
}

// String returns the id and the expiry, without the text that authenticates the user: "token
// 723450871123 (expires 2026-11-24T20:00:00Z)".
func (t Token) String() string {
	return fmt.Sprintf("token %d (expires %s)", t.ID, t.Expires.UTC().Format(time.RFC3339))
}

// GoString returns the same as String.
func (t Token) GoString() string { return t.String() }

// LogValue implements [slog.LogValuer] with the same text as String.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

const (
	prefix    = "st1_" // names the format and its version
	idAt      = 0
	randomAt  = 8
	expiresAt = 24
	keyAt     = 30
	macAt     = 31 // the bytes before it are called the body
	size      = macAt + sha256.Size
	textSize  = len(prefix) + size/3*4
)

// alphabet has the characters of base64url in the order of ASCII, so that texts sort as
// their bytes. 63 bytes need no padding and leave no bits unused.
var alphabet = base64.NewEncoding("-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz").WithPadding(base64.NoPadding)

// seal returns the text of a token with random bits from crypto/rand.
func seal(k *key, purpose string, id, expires int64) string {
	var b [size]byte
	binary.BigEndian.PutUint64(b[idAt:], uint64(id))
	// The two highest bytes of expires are 0, and random bits replace them.
	binary.BigEndian.PutUint64(b[keyAt-8:], uint64(expires))
	rand.Read(b[randomAt:expiresAt]) // never fails
	b[keyAt] = k.id
	k.sign(b[:macAt], b[:macAt], purpose)
	return prefix + alphabet.EncodeToString(b[:])
}

// decode returns the bytes of a text that has the form of a token. The decoder ignores
// line breaks, so a text that has any yields too few bytes.
func decode(text string) (b [size]byte, ok bool) {
	if len(text) != textSize || text[:len(prefix)] != prefix {
		return b, false
	}
	n, err := alphabet.Decode(b[:], []byte(text[len(prefix):]))
	return b, err == nil && n == size
}

func idOf(b *[size]byte) int64 { return int64(binary.BigEndian.Uint64(b[idAt:])) }

func expiresOf(b *[size]byte) int64 {
	return int64(binary.BigEndian.Uint64(b[keyAt-8:]) & maxExpires)
}

// maxExpires is the largest number of 6 bytes, in the year 10889.
const maxExpires = 1<<48 - 1
