package public

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/errtest"
)

// These are consecutive keys above 2^53, which become equal as float64.
const (
	low  = 1234567890123456788
	high = 1234567890123456789
)

const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// secret returns bytes that differ for every seed, and in nothing but that.
func secret(seed byte) []byte {
	s := bytes.Repeat([]byte{7}, keyLen)
	s[0] = seed
	return s
}

func mustNew(t testing.TB, keys ...Key) *Codec {
	t.Helper()
	return errtest.Must(New(keys...))(t)
}

func encode(c *Codec, entity string, id int64) string {
	text, _ := c.Encode(entity, id)
	return text
}

// refused fails the test if the text is an id of a user. All failures must be alike.
func refused(t *testing.T, c *Codec, text string) {
	t.Helper()
	id, err := c.Decode("user", text)
	if e, ok := errors.AsType[*Error](err); !ok || id != 0 || e.Entity != "user" || e.Value != fmt.Sprintf("%q", text) {
		t.Errorf("%q is %d, %#v", text, id, err)
	}
}

func TestEveryIDComesBack(t *testing.T) {
	c, r := mustNew(t, Key{'A', secret(1)}), rand.New(rand.NewPCG(1, 2))
	ids := []int64{0, 1, -1, low, high, math.MaxInt64, math.MinInt64}
	for range 1000 {
		ids = append(ids, int64(r.Uint64()>>r.UintN(64)))
	}
	for _, id := range ids {
		text := encode(c, "user", id)
		if back, err := c.Decode("user", text); err != nil || back != id || len(text) != Length || spell(numberOf(text[1:])) != text[1:] {
			t.Errorf("%d is %q, which is %d, %v", id, text, back, err)
		}
	}
}

func TestMistypedIDsAreRefused(t *testing.T) {
	c := mustNew(t, Key{'A', secret(1)}, Key{'B', secret(2)})
	text := encode(c, "user", high)
	wrong := []string{"", "é", text[1:], text[:len(text)-1], text + "0", "0" + text, " " + text, text + "\n", text[:1] + strings.Repeat("0", digitsLen)}
	for i := range text {
		for _, letter := range letters + " -_é\x00" {
			wrong = append(wrong, text[:i]+string(letter)+text[i+1:])
		}
		if i > 0 {
			wrong = append(wrong, text[:i-1]+text[i:i+1]+text[i-1:i]+text[i+1:])
		}
	}
	for _, wrong := range wrong {
		if wrong != text {
			refused(t, c, wrong)
		}
	}
}

func TestOtherIDsAreRefused(t *testing.T) {
	c := mustNew(t, Key{'A', secret(1)}, Key{'B', secret(2)})
	for _, entity := range []string{"post", "User", "user ", "use", "", "block"} {
		refused(t, c, encode(c, entity, low))
		refused(t, c, encode(c, entity, high))
	}
	refused(t, c, encode(mustNew(t, Key{'A', secret(200)}), "user", high))

	// A block above 128 bits would be a second spelling of one that most ids have room for.
	spellings := 0
	for id := int64(high); spellings < 20; id++ {
		text := encode(c, "user", id)
		block := numberOf(text[1:])
		if again := spell(block.Add(block, new(big.Int).Lsh(big.NewInt(1), 128))); len(again) == digitsLen {
			spellings++
			refused(t, c, text[:1]+again)
		}
	}
}

func numberOf(text string) *big.Int {
	n := new(big.Int)
	for i := range text {
		n.Add(n.Mul(n, big.NewInt(62)), big.NewInt(int64(strings.IndexByte(letters, text[i]))))
	}
	return n
}

// spell returns at least 22 digits.
func spell(n *big.Int) string {
	text, digit := "", new(big.Int)
	for n = new(big.Int).Set(n); n.Sign() > 0; {
		n.DivMod(n, big.NewInt(62), digit)
		text = string(letters[digit.Int64()]) + text
	}
	return strings.Repeat("0", max(0, digitsLen-len(text))) + text
}

// FuzzDecode checks that text which is accepted is written as that same text.
func FuzzDecode(f *testing.F) {
	c := mustNew(f, Key{'A', secret(1)}, Key{'B', secret(2)})
	old := mustNew(f, Key{'B', secret(2)})
	for _, id := range []int64{0, 1, -1, low, high, math.MaxInt64, math.MinInt64} {
		for _, codec := range []*Codec{c, old} {
			text, _ := codec.Encode("user", id)
			f.Add("user", text)
			f.Add("post", text)
		}
	}
	f.Add("", "A"+strings.Repeat("z", digitsLen))
	f.Fuzz(func(t *testing.T, entity, text string) {
		id, err := c.Decode(entity, text)
		if _, ok := errors.AsType[*Error](err); err != nil && !ok {
			t.Fatalf("%q: %v", text, err)
		}
		if err == nil {
			writer := map[byte]*Codec{'A': c, 'B': old}[text[0]]
			if again, err := writer.Encode(entity, id); err != nil || again != text {
				t.Fatalf("%q is %d, which is written %q, %v", text, id, again, err)
			}
		}
	})
}
