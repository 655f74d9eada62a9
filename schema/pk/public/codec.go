package public

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"sync"
	"sync/atomic"
)

// Length is the number of characters of every public id.
const Length = 1 + digitsLen

// A Codec converts keys to public ids and back. Create one using [New] or [Load]; its
// keys can't be changed afterwards. Methods of a nil or zero Codec return [ErrNoCodec]. A
// Codec is safe for concurrent use.
type Codec struct {
	writes *sealer      // makes new ids
	reads  [256]*sealer // by version
}

// Encode returns the public id for an entity's key. Any int64 can be encoded, even 0 and
// negative numbers. The only possible error is ErrNoCodec.
//
// The entity can be any text, but must not be changed once ids have been handed out. It
// should be a constant, because the codec caches the tag for every entity it sees.
func (c *Codec) Encode(entity string, id int64) (string, error) {
	var buf [Length]byte
	text, err := c.Append(buf[:0], entity, id)
	return string(text), err
}

// Append is like [Codec.Encode] but appends the public id to dst. It won't allocate if
// there's room in dst.
func (c *Codec) Append(dst []byte, entity string, id int64) ([]byte, error) {
	if c == nil || c.writes == nil {
		return dst, ErrNoCodec
	}
	k := c.writes
	tag, known := k.tag(entity)
	if !known {
		k.remember(entity, tag)
	}
	return seal(append(dst, k.version), k.block, uint64(id), tag), nil
}

// Decode returns the key for an entity's public id. Text that [Codec.Encode] wouldn't
// have written with one of the codec's keys is an [*Error].
func (c *Codec) Decode(entity, text string) (int64, error) { return decode(c, entity, text) }

func decode[S string | []byte](c *Codec, entity string, text S) (int64, error) {
	if c == nil || c.writes == nil {
		return 0, ErrNoCodec
	}
	if len(text) != Length || c.reads[text[0]] == nil {
		return 0, refuse(entity, text)
	}
	k := c.reads[text[0]]
	id, tag, ok := open(k.block, text[1:])
	expected, known := k.tag(entity)
	if !ok || tag^expected != 0 { // in constant time
		return 0, refuse(entity, text)
	}
	if !known { // now we know that somebody encodes it, and didn't make it up
		k.remember(entity, expected)
	}
	return int64(id), nil
}

// A sealer uses one key.
type sealer struct {
	version byte
	secret  []byte
	block   cipher.Block

	mu   sync.Mutex // held while tags is replaced
	tags atomic.Pointer[map[string]uint64]
}

func newSealer(key Key) *sealer {
	s := &sealer{version: key.Version, secret: append([]byte(nil), key.Secret...)}
	s.tags.Store(&map[string]uint64{})
	s.block, _ = aes.NewCipher(s.derive("block")) // an error would be about the length of 32 bytes
	return s
}

func (s *sealer) derive(purpose string) []byte {
	mac := hmac.New(sha256.New, s.secret)
	mac.Write([]byte("snowkey public id: " + purpose))
	return mac.Sum(nil)
}

// tag returns the tag of an entity, and whether it was remembered.
func (s *sealer) tag(entity string) (tag uint64, known bool) {
	if tag, known := (*s.tags.Load())[entity]; known {
		return tag, true
	}
	return binary.BigEndian.Uint64(s.derive("entity " + entity)), false
}

// remember keeps the tag of an entity, because computing it takes longer than all the rest
// of an id.
func (s *sealer) remember(entity string, tag uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tags := maps.Clone(*s.tags.Load())
	tags[entity] = tag
	s.tags.Store(&tags)
}
