package public

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"
)

const keyLen = 32

// makeKey is a command that prints a key.
const makeKey = "openssl rand -hex 32"

// A Key is a secret, along with the character that ids use to refer to it.
type Key struct {
	Version byte   // 0-9, A-Z or a-z
	Secret  []byte // 32 random bytes
}

// Format implements [fmt.Formatter]. It writes the version, and never the secret.
func (k Key) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "key %q", k.Version) }

// LogValue implements [slog.LogValuer]. It returns the version, and never the secret.
func (k Key) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(k)) }

// New returns a codec. All of the keys can read ids, but new ids are always made with the
// first. Errors never contain a secret.
func New(keys ...Key) (*Codec, error) {
	if len(keys) == 0 {
		return nil, errors.New("public: keys: there is none; make one with: " + makeKey)
	}
	c := new(Codec)
	for i, key := range keys {
		reason := ""
		other := slices.IndexFunc(keys[:i], func(k Key) bool { return bytes.Equal(k.Secret, key.Secret) })
		switch {
		case base62.Values()[key.Version] < 0:
			reason = "the version must be one of 0-9, A-Z and a-z"
		case len(key.Secret) != keyLen:
			reason = fmt.Sprintf("has %d bytes, want %d; make one with: %s", len(key.Secret), keyLen, makeKey)
		case bytes.Count(key.Secret, key.Secret[:1]) == keyLen:
			reason = "has 32 equal bytes, which anyone can guess; make one with: " + makeKey
		case c.reads[key.Version] != nil:
			reason = "another key has this version; each key needs its own"
		case other >= 0:
			reason = fmt.Sprintf("is the same as key %q; make another with: %s", keys[other].Version, makeKey)
		}
		if reason != "" {
			return nil, fmt.Errorf("public: key %d (version %q): %s", i+1, string(rune(key.Version)), reason)
		}
		c.reads[key.Version] = newSealer(key)
	}
	c.writes = c.reads[keys[0].Version]
	return c, nil
}

// Load returns a codec using keys from a text, typically an environment variable or a
// file. Keys have the form VERSION:HEX, separated by spaces, commas or newlines:
//
//	B:98658f56aa0efc6f5309484db584619996d33e372b1194aef46ecb56bb04c565 A:e9e5dff1276a152cc7c660b699d08ef7240684f49c6c0f3094aede5eb33c2d91
//
// All of the keys can read ids, but new ids are always made with the first. Errors never
// contain any part of a secret.
func Load(text string) (*Codec, error) {
	var keys []Key
	for item := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		version, secret, ok := strings.Cut(item, ":")
		if !ok || len(version) != 1 {
			return nil, fmt.Errorf("public: key %d: want VERSION:HEX, such as A: and the output of: %s", len(keys)+1, makeKey)
		}
		decoded, err := hex.DecodeString(secret)
		if err != nil {
			return nil, fmt.Errorf("public: key %d (version %q): is not hex; make one with: %s", len(keys)+1, version, makeKey)
		}
		keys = append(keys, Key{version[0], decoded})
	}
	return New(keys...)
}

var defaultCodec atomic.Pointer[Codec]

// Default returns the process-wide codec, which is used by every [ID]. It's nil until
// [SetDefault] is called.
func Default() *Codec { return defaultCodec.Load() }

// SetDefault sets the process-wide codec. Call it in main, before the first id is written
// or read. Calling it again later is safe and affects all ids from then on.
// SetDefault(nil) removes the codec.
func SetDefault(c *Codec) { defaultCodec.Store(c) }
