package pk_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// A form is one of the pairs of functions, beside an implementation of it that relies on
// big.Int.
type form struct {
	name     string
	alphabet string
	width    int
	format   func(pk.ID) string
	parse    func(string) (pk.ID, error)
}

var forms = []form{
	{"hex", "0123456789abcdef", 16, pk.FormatHex, pk.ParseHex},
	{"base58", "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", 11, pk.FormatBase58, pk.ParseBase58},
	{"base62", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 11, pk.FormatBase62, pk.ParseBase62},
}

// text returns the text of an unsigned number.
func (f form) text(n uint64) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" // of big.Int
	s := strings.Map(func(r rune) rune {
		return rune(f.alphabet[strings.IndexRune(digits, r)])
	}, new(big.Int).SetUint64(n).Text(len(f.alphabet)))
	return strings.Repeat(f.alphabet[:1], f.width-len(s)) + s
}

// number is the inverse of text. It reports whether the text is that of a number.
func (f form) number(text string) (int64, bool) {
	n := new(big.Int)
	for i := range len(text) {
		digit := strings.IndexByte(f.alphabet, text[i])
		if digit < 0 {
			return 0, false
		}
		n.Add(n.Mul(n, big.NewInt(int64(len(f.alphabet)))), big.NewInt(int64(digit)))
	}
	return int64(n.Uint64()), n.IsUint64() && len(text) == f.width
}

// check formats a number, and parses the text.
func (f form) check(t *testing.T, n int64) {
	t.Helper()
	text := f.format(pk.ID(n))
	if want := f.text(uint64(n)); text != want {
		t.Errorf("%s of %d is %q, want %q", f.name, n, text, want)
	}
	if back, err := f.parse(text); err != nil || int64(back) != n {
		t.Errorf("%s %q of %d is parsed as %d, %v", f.name, text, n, back, err)
	}
}

func TestForms(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, f := range forms {
		for _, n := range append(edges, negativeEdges...) {
			f.check(t, n)
		}
		for range 10_000 {
			f.check(t, int64(random.Uint64()>>random.UintN(64)))
		}
		if got := testing.AllocsPerRun(100, func() { _ = f.format(high) }); got > 1 {
			t.Errorf("formatting %s allocates %v times", f.name, got)
		}
		text := f.format(high)
		if got := testing.AllocsPerRun(100, func() { _, _ = f.parse(text) }); got > 0 {
			t.Errorf("parsing %s allocates %v times", f.name, got)
		}
	}
}

// Text of numbers that aren't negative sorts like the numbers, and a negative number, which
// sortable text doesn't have, comes after all others.
func TestFormsSort(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 100_000 {
		// The shift makes every magnitude equally likely, and pairs that are close
		// together common.
		a := random.Uint64() >> random.UintN(64)
		b := random.Uint64() >> random.UintN(64)
		if random.IntN(2) == 0 {
			b = a ^ 1<<random.UintN(64)
		}
		if textA, textB := pk.SortText(a>>1).String(), pk.SortText(b>>1).String(); (a>>1 < b>>1) != (textA < textB) {
			t.Fatalf("the order of %d and %d is not that of %s and %s", a>>1, b>>1, textA, textB)
		}
		for _, f := range forms {
			if textA, textB := f.format(pk.ID(a)), f.format(pk.ID(b)); (a < b) != (textA < textB) {
				t.Fatalf("the order of %d and %d is not that of %s and %s", a, b, textA, textB)
			}
		}
	}
}

func TestFormsRefuse(t *testing.T) {
	for _, f := range forms {
		largest, good := f.format(-1), f.format(high)
		next := big.NewInt(0).SetUint64(math.MaxUint64)
		for range 3 { // 2^64 and the two numbers after it
			next.Add(next, big.NewInt(1))
			var text string
			for n := new(big.Int).Set(next); n.Sign() > 0; {
				digit := new(big.Int)
				n.DivMod(n, big.NewInt(int64(len(f.alphabet))), digit)
				text = f.alphabet[digit.Int64():][:1] + text
			}
			_, err := f.parse(text)
			mustRefuse(t, f.name+" of "+next.String()+" as "+text, err)
			if f.width == len(text) && !strings.Contains(fmt.Sprint(err), largest) {
				t.Errorf("%s of %v: %v does not name the largest text %s", f.name, next, err, largest)
			}
		}
		for _, text := range []string{
			"", good[1:], good[:f.width-1], good + f.alphabet[:1], f.alphabet[:1] + good, " " + good[1:], good[1:] + "\n",
			"-" + good[1:], "+" + good[1:], "_" + good[1:], good[1:] + "\x00", "\xff" + good[1:], "é" + good[2:],
			strings.Repeat(f.alphabet[len(f.alphabet)-1:], f.width+1), strings.Repeat(f.alphabet[:1], 1<<20),
		} {
			_, err := f.parse(text)
			mustRefuse(t, fmt.Sprintf("%s of %.20q", f.name, text), err)
		}
		for c := range 256 {
			text := good[:f.width-1] + string([]byte{byte(c)})
			if _, err := f.parse(text); (err == nil) != (strings.IndexByte(f.alphabet, byte(c)) >= 0) {
				t.Errorf("%s of %q: %v", f.name, text, err)
			}
		}
	}
	for parse, text := range map[string]string{"0x": "0x00112210f47de981", "upper case": "112210F47DE98115"} {
		_, err := pk.ParseHex(text)
		mustRefuse(t, parse, err)
	}
}

func vectors[V any](t *testing.T, file string) (v V) {
	t.Helper()
	errtest.NoError(t, json.Unmarshal(errtest.Must(os.ReadFile("testdata/"+file))(t), &v))
	return v
}

// Bitcoin encodes bytes, each leading zero byte as a 1. Our text of the same number
// has as many 1s in front as there is room for.
func TestBase58Vectors(t *testing.T) {
	fit := 0
	for _, v := range vectors[[][2]string](t, "base58.json") {
		bytes := errtest.Must(hex.DecodeString(v[0]))(t)
		text := strings.TrimLeft(v[1], "1")
		n := new(big.Int).SetBytes(bytes)
		if !n.IsUint64() {
			_, err := pk.ParseBase58(v[1])
			mustRefuse(t, v[1], err)
			continue
		}
		fit++
		want := strings.Repeat("1", 11-len(text)) + text
		if got := pk.FormatBase58(pk.ID(n.Uint64())); got != want {
			t.Errorf("base58 of %v is %s, want %s", n, got, want)
		}
		if got, err := pk.ParseBase58(want); err != nil || uint64(got) != n.Uint64() {
			t.Errorf("%s is %d, %v, want %v", want, got, err, n)
		}
	}
	if fit < 10 {
		t.Errorf("only %d vectors are numbers of 64 bits", fit)
	}
}

func TestTSIDVectors(t *testing.T) {
	v := vectors[struct {
		Canonical, Base62               [][2]string
		RefusedCanonical, RefusedBase62 []string
	}](t, "tsid.json")
	if len(v.Canonical) < 3 || len(v.Base62) < 16 || len(v.RefusedBase62) < 6 || len(v.RefusedCanonical) < 7 {
		t.Fatalf("vectors are missing: %+v", v)
	}
	for _, v := range v.Canonical {
		id, err := pk.Parse(v[0])
		text, err2 := pk.ParseSort(v[1])
		if err != nil || err2 != nil || text.ID() != id || pk.SortText(id).String() != v[1] {
			t.Errorf("%q: %d, %v and %d, %v", v, id, err, text.ID(), err2)
		}
	}
	for _, text := range v.RefusedCanonical {
		_, err := pk.ParseSort(text)
		mustRefuse(t, text, err)
	}
	for _, v := range v.Base62 {
		number, err := strconv.ParseUint(v[0], 16, 64)
		id, err2 := pk.ParseBase62(v[1])
		if err != nil || err2 != nil || uint64(id) != number || pk.FormatBase62(id) != v[1] || pk.FormatHex(id) != v[0] {
			t.Errorf("%q: %d, %v, %v", v, id, err, err2)
		}
	}
	for _, text := range v.RefusedBase62 {
		_, err := pk.ParseBase62(text)
		mustRefuse(t, text, err)
	}
}

// FuzzForms compares the functions with big.Int, for any text and any number.
func FuzzForms(f *testing.F) {
	for _, n := range append(edges, negativeEdges...) {
		for _, form := range forms {
			f.Add(n, form.text(uint64(n)))
		}
	}
	f.Add(int64(0), "LygHa16AHYG")
	f.Add(int64(0), "jpXCZedGfVR")
	f.Fuzz(func(t *testing.T, n int64, text string) {
		for _, form := range forms {
			form.check(t, n)
			want, ok := form.number(text)
			id, err := form.parse(text)
			if (err == nil) != ok || ok && int64(id) != want {
				t.Fatalf("%s of %q is %d, %v; big.Int says %d, %v", form.name, text, id, err, want, ok)
			}
			if err != nil {
				mustRefuse(t, text, err)
			}
		}
	})
}

// FuzzPrefixed checks that text which is accepted is written as that same text, and that
// no text is accepted for two entities.
func FuzzPrefixed(f *testing.F) {
	for _, n := range edges {
		f.Add(pk.Prefixed[user](n).String())
		f.Add(pk.Prefixed[post](n).String())
	}
	for _, text := range badPrefixed {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := pk.ParsePrefixed[user](text)
		other, err2 := pk.ParsePrefixed[post](text)
		if err == nil && err2 == nil {
			t.Fatalf("%q is a key of two entities", text)
		}
		if err != nil {
			mustRefuse(t, text, err)
		} else if id.String() != text || id < 0 {
			t.Fatalf("%q is %d, which is written %q", text, id.Int64(), id)
		}
		if err2 == nil && other.String() != text {
			t.Fatalf("%q is %d, which is written %q", text, other.Int64(), other)
		}
	})
}

// A prefix that does not follow the rules is an error wherever keys are written or read.
func TestPrefixRules(t *testing.T) {
	checkPrefix[empty](t, false)
	checkPrefix[upper](t, false)
	checkPrefix[digit](t, false)
	checkPrefix[before](t, false)
	checkPrefix[after](t, false)
	checkPrefix[long64](t, false)
	checkPrefix[long63](t, true)
	checkPrefix[short](t, true)
	checkPrefix[*onPointer](t, true)
}

type (
	empty     struct{}
	upper     struct{}
	digit     struct{}
	before    struct{}
	after     struct{}
	long63    struct{}
	long64    struct{}
	short     struct{}
	onPointer struct{}
)

func (empty) Prefix() string      { return "" }
func (upper) Prefix() string      { return "User" }
func (digit) Prefix() string      { return "user2" }
func (before) Prefix() string     { return "_user" }
func (after) Prefix() string      { return "user_" }
func (long63) Prefix() string     { return strings.Repeat("a", 63) }
func (long64) Prefix() string     { return strings.Repeat("a", 64) }
func (short) Prefix() string      { return "u" }
func (*onPointer) Prefix() string { return "blog_post" }

func checkPrefix[T pk.Prefixer](t *testing.T, ok bool) {
	t.Helper()
	id := pk.Prefixed[T](high)
	text := id.String()
	back, err := pk.ParsePrefixed[T](text)
	_, err2 := id.MarshalText()
	_, err3 := json.Marshal(id)
	if ok && (err != nil || back != id || err2 != nil || err3 != nil) {
		t.Errorf("%q: %v, %v, %v, %v", text, back, err, err2, err3)
	}
	if !ok {
		for _, err := range []error{err, err2, err3} {
			mustRefuse(t, text, err)
			if err != nil && !strings.Contains(err.Error(), "1 to 63 characters") {
				t.Errorf("%q: %v", text, err)
			}
		}
	}
	var scanned pk.Prefixed[T]
	if err := scanned.Scan(int64(high)); err != nil || scanned != id {
		t.Errorf("%q from a column: %v, %v", text, scanned, err)
	}
}
