package public

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
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

// The properties of a codec. Each returns what violates it, or an empty string.
var properties = map[string]func(c *Codec, r *rand.Rand) string{
	"every id comes back": func(c *Codec, r *rand.Rand) string {
		ids := []int64{0, 1, -1, low, high, math.MaxInt64, math.MinInt64}
		for range 1000 {
			ids = append(ids, int64(r.Uint64()>>r.UintN(64)))
		}
		for _, id := range ids {
			text := encode(c, "user", id)
			if back, err := c.Decode("user", text); err != nil || back != id || len(text) != Length || spell(numberOf(text[1:])) != text[1:] {
				return fmt.Sprintf("%d is %q, which is %d, %v", id, text, back, err)
			}
		}
		return ""
	},
	"a forged id is refused": func(c *Codec, r *rand.Rand) string {
		for range 20_000 {
			text := []byte(encode(c, "user", high))
			for i := 1; i < len(text); i++ {
				text[i] = letters[r.IntN(len(letters))]
			}
			if id, err := c.Decode("user", string(text)); err == nil {
				return fmt.Sprintf("%s is %d", text, id)
			}
		}
		return ""
	},
	"a mistyped id is refused": func(c *Codec, r *rand.Rand) string {
		text := encode(c, "user", high)
		for i := range text {
			for _, letter := range []byte(letters + " -_é\x00") {
				wrong := text[:i] + string(rune(letter)) + text[i+1:]
				if id, err := c.Decode("user", wrong); err == nil && wrong != text {
					return fmt.Sprintf("%s with another character is %s, which is %d", text, wrong, id)
				}
			}
		}
		for i := range len(text) - 1 {
			wrong := text[:i] + text[i+1:i+2] + text[i:i+1] + text[i+2:]
			if id, err := c.Decode("user", wrong); err == nil && wrong != text {
				return fmt.Sprintf("%s with two characters swapped is %s, which is %d", text, wrong, id)
			}
		}
		for _, wrong := range []string{"", text[1:], text[:len(text)-1], text + "0", "0" + text, " " + text, text + "\n"} {
			if id, err := c.Decode("user", wrong); err == nil {
				return fmt.Sprintf("%q is %d", wrong, id)
			}
		}
		return ""
	},
	"an id of another entity is refused": func(c *Codec, r *rand.Rand) string {
		for id := int64(low); id <= high; id++ {
			for _, other := range []string{"post", "User", "user ", "use", "", "block"} {
				if got, err := c.Decode("user", encode(c, other, id)); err == nil {
					return fmt.Sprintf("%d of a %q is accepted as %d of a user", id, other, got)
				}
			}
		}
		return ""
	},
	"an id under another key is refused": func(c *Codec, r *rand.Rand) string {
		other, err := New(Key{'A', secret(200)})
		if err != nil {
			return err.Error()
		}
		text, _ := other.Encode("user", high)
		if id, err := c.Decode("user", text); err == nil {
			return fmt.Sprintf("%s is %d", text, id)
		}
		return ""
	},
	"an id has one spelling": func(c *Codec, r *rand.Rand) string {
		block := new(big.Int).Lsh(big.NewInt(1), 128)
		spellings := 0
		for id := int64(high); spellings < 20; id++ {
			text := encode(c, "user", id)
			again := spell(block.Add(new(big.Int).Lsh(big.NewInt(1), 128), numberOf(text[1:])))
			if len(again) > digitsLen {
				continue // it has no other spelling
			}
			spellings++
			if id, err := c.Decode("user", text[:1]+again); err == nil {
				return fmt.Sprintf("%s and %s are both %d", text, text[:1]+again, id)
			}
		}
		return ""
	},
	"all failures are alike": func(c *Codec, r *rand.Rand) string {
		text := encode(c, "user", high)
		for _, wrong := range []string{text[:1] + text[2:] + "0", encode(c, "post", high), text[:1] + strings.Repeat("0", digitsLen), "", "é", "B" + text[1:], "x" + text[1:]} {
			id, err := c.Decode("user", wrong)
			refused, ok := errors.AsType[*Error](err)
			if !ok || id != 0 || refused.Entity != "user" || refused.Value != fmt.Sprintf("%q", wrong) {
				return fmt.Sprintf("%q is %d, %#v", wrong, id, err)
			}
		}
		return ""
	},
	"neighbours look unrelated": func(c *Codec, r *rand.Rand) string {
		const n = 4096
		var changed, sorted int
		firsts := make(map[string]bool)
		for id := int64(high); id < high+n; id++ {
			a, b := encode(c, "user", id), encode(c, "user", id+1)
			difference := new(big.Int).Xor(numberOf(a[1:]), numberOf(b[1:]))
			for _, word := range difference.Bits() {
				changed += bits.OnesCount(uint(word))
			}
			if a < b {
				sorted++
			}
			firsts[a[1:5]] = true
		}
		if mean := float64(changed) / n; mean < 63 || mean > 65 {
			return fmt.Sprintf("%.1f of 128 bits change from one id to the next, want 64", mean)
		}
		if share := float64(sorted) / n; share < 0.45 || share > 0.55 {
			return fmt.Sprintf("%.2f of the ids sort before the next one, want half", share)
		}
		if len(firsts) < n*99/100 {
			return fmt.Sprintf("%d ids have only %d beginnings", n, len(firsts))
		}
		return ""
	},
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

func TestProperties(t *testing.T) {
	c := mustNew(t, Key{'A', secret(1)}, Key{'B', secret(2)})
	for name, property := range properties {
		if violation := property(c, rand.New(rand.NewPCG(1, 2))); violation != "" {
			t.Errorf("%s: %s", name, violation)
		}
	}
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
