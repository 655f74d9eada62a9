package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"log/slog"
	"strconv"
	"strings"
)

// Keys are a signer's secrets. The first one signs, while all of them verify. They should be
// created with [ParseKeys], since the zero Keys isn't valid in a [Config].
//
// Keys are immutable and safe for concurrent use. Printing them only shows their ids.
type Keys struct {
	// These are pointers because fmt prints the target of a pointer only at the top
	// level. It can't call our methods for an unexported field of another struct.
	list []*key
}

type key struct {
	id  byte
	mac func() hash.Hash // keyed with the secret, which fmt can't print if it's in a function
}

// minSecret is the size of SHA-256. RFC 2104 discourages shorter keys, and keys that are
// longer than a block are hashed first.
const minSecret, maxSecret = sha256.Size, sha256.BlockSize

// ParseKeys reads keys from text, such as the value of an environment variable:
//
//	2:1f2d…e0,1:9ab4…77
//
// Each key consists of an id (1 to 255) and a secret, which is 32 to 64 random bytes in hex.
// openssl rand -hex 32 generates a suitable one. The id must not be reused for another
// secret later on, because it's part of every token that's signed with the key.
func ParseKeys(text string) (Keys, error) {
	var keys Keys
	secrets := make(map[string]bool)
	for i, each := range strings.Split(text, ",") {
		before, after, _ := strings.Cut(strings.TrimSpace(each), ":")
		id, err := strconv.ParseUint(before, 10, 8)
		if err != nil || id == 0 {
			// The id may be a secret without its id, so we don't print it.
			return Keys{}, configError("Keys", fmt.Sprintf("has no id from 1 to 255 in key %d of the list; write each key as id:secret, with commas between keys", i+1))
		}
		secret, err := hex.DecodeString(after)
		switch {
		case err != nil:
			return Keys{}, configError("Keys", fmt.Sprintf("has a secret of key %d that is not hex; use openssl rand -hex %d", id, minSecret))
		case len(secret) < minSecret || len(secret) > maxSecret:
			return Keys{}, configError("Keys", fmt.Sprintf("has a secret of key %d with %d bytes; use %d to %d, from openssl rand -hex %d", id, len(secret), minSecret, maxSecret, minSecret))
		case keys.find(byte(id)) != nil:
			return Keys{}, configError("Keys", fmt.Sprintf("has key %d twice; give each secret an id of its own", id))
		case secrets[string(secret)]:
			return Keys{}, configError("Keys", fmt.Sprintf("has the same secret in key %d and in an earlier one; make a new secret for each key", id))
		}
		secrets[string(secret)] = true
		keys.list = append(keys.list, &key{byte(id), func() hash.Hash { return hmac.New(sha256.New, secret) }})
	}
	return keys, nil
}

func (k Keys) find(id byte) *key {
	for _, key := range k.list {
		if key.id == id {
			return key
		}
	}
	return nil
}

// sign appends the MAC of a token's body and its purpose to dst.
func (k *key) sign(dst, body []byte, purpose string) []byte {
	h := k.mac()
	h.Write([]byte(prefix))
	h.Write(body)
	h.Write([]byte(purpose))
	return h.Sum(dst)
}

// String returns the ids of the keys without their secrets, e.g. "keys 2, 1".
func (k Keys) String() string {
	ids := make([]string, len(k.list))
	for i, key := range k.list {
		ids[i] = strconv.Itoa(int(key.id))
	}
	return "keys " + strings.Join(ids, ", ")
}

// GoString returns the same as String.
func (k Keys) GoString() string { return k.String() }

// LogValue implements [slog.LogValuer] with the same text as String.
func (k Keys) LogValue() slog.Value { return slog.StringValue(k.String()) }
