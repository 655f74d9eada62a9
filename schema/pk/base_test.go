package pk_test

import (
	"encoding/json"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// A form is one of the pairs of functions, beside an implementation of it that relies on
// big.Int.
type form struct {
	name     string
	prefix   string
	alphabet string
	width    int
	bits     int
	format   func(pk.ID) string
	parse    func(string) (pk.ID, error)
}

var crockford = form{
	"sortable", "", "0123456789ABCDEFGHJKMNPQRSTVWXYZ", 13, 63,
	func(id pk.ID) string { return pk.SortText(id).String() },
	func(s string) (pk.ID, error) {
		t, err := pk.ParseSort(s)
		return t.ID(), err
	},
}

var forms = []form{
	crockford,
	{
		"prefixed", "user_", crockford.alphabet, 13, 63,
		func(id pk.ID) string { return pk.Prefixed[user](id).String() },
		func(s string) (pk.ID, error) {
			id, err := pk.ParsePrefixed[user](s)
			return id.ID(), err
		},
	},
	{"hex", "", "0123456789abcdef", 16, 64, pk.FormatHex, pk.ParseHex},
	{"base58", "", "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", 11, 64, pk.FormatBase58, pk.ParseBase58},
	{"base62", "", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 11, 64, pk.FormatBase62, pk.ParseBase62},
}

// text returns the text of an unsigned number.
func (f form) text(n uint64) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" // of big.Int
	s := strings.Map(func(r rune) rune {
		return rune(f.alphabet[strings.IndexRune(digits, r)])
	}, new(big.Int).SetUint64(n).Text(len(f.alphabet)))
	return f.prefix + strings.Repeat(f.alphabet[:1], f.width-len(s)) + s
}

// number is the inverse of text. It reports whether the text is that of a number.
func (f form) number(text string) (int64, bool) {
	n := new(big.Int)
	text, ok := strings.CutPrefix(text, f.prefix)
	if !ok || len(text) != f.width {
		return 0, false
	}
	for i := range len(text) {
		digit := strings.IndexByte(f.alphabet, text[i])
		if digit < 0 {
			return 0, false
		}
		n.Add(n.Mul(n, big.NewInt(int64(len(f.alphabet)))), big.NewInt(int64(digit)))
	}
	return int64(n.Uint64()), n.BitLen() <= f.bits
}

// check formats a number, and parses the text.
func (f form) check(t *testing.T, n int64) {
	t.Helper()
	if n < 0 && f.bits < 64 {
		return // see TestNegative
	}
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
		if !slices.IsSorted([]byte(f.alphabet)) { // all texts have one width, so they sort like the numbers
			t.Errorf("%s does not sort like the numbers", f.name)
		}
		for range 10_000 { // FuzzForms has the edges
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

func TestTSIDVectors(t *testing.T) {
	var v struct {
		Canonical, Base62               [][2]string
		RefusedCanonical, RefusedBase62 []string
	}
	errtest.NoError(t, json.Unmarshal(errtest.Must(os.ReadFile("testdata/tsid.json"))(t), &v))
	if len(v.Canonical) < 3 || len(v.Base62) < 16 || len(v.RefusedBase62) < 6 || len(v.RefusedCanonical) < 7 {
		t.Fatalf("vectors are missing: %+v", v)
	}
	for _, v := range v.Canonical {
		if id, err := pk.Parse(v[0]); err != nil || pk.SortText(id).String() != v[1] {
			t.Errorf("%q: %d, %v", v, id, err)
		}
	}
	for _, v := range v.Base62 {
		if id, err := pk.ParseHex(v[0]); err != nil || pk.FormatBase62(id) != v[1] {
			t.Errorf("%q: %d, %v", v, id, err)
		}
	}
	for _, text := range v.RefusedCanonical {
		_, err := pk.ParseSort(text)
		mustRefuse(t, text, err)
	}
	for _, text := range v.RefusedBase62 {
		_, err := pk.ParseBase62(text)
		mustRefuse(t, text, err)
	}
}

// FuzzForms compares the functions with big.Int, for any text and any number.
func FuzzForms(f *testing.F) {
	for _, form := range forms {
		for _, n := range append(edges, negativeEdges...) {
			f.Add(n, form.text(uint64(n)>>(64-form.bits)))
		}
		good, zero, last := form.text(high), form.alphabet[:1], form.alphabet[len(form.alphabet)-1:]
		end := len(good) - 1
		for _, text := range []string{
			"", good[1:], good[:end], good + zero, zero + good, " " + good[1:], good[1:] + "\n",
			"-" + good[1:], "+" + good[1:], "_" + good[1:], "é" + good[2:],
			form.prefix + strings.Repeat(last, form.width), form.prefix + strings.Repeat(last, form.width+1),
		} {
			f.Add(int64(0), text)
		}
		for c := range 256 {
			f.Add(int64(0), good[:end]+string([]byte{byte(c)}))
			f.Add(int64(0), string([]byte{byte(c)})+good[1:])
		}
	}
	for _, text := range append(badPrefixed, "LygHa16AHYG", "jpXCZedGfVR", "0x00112210f47de981", "112210F47DE98115") {
		f.Add(int64(0), text)
	}
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

// A prefix that does not follow the rules is an error wherever keys are written or read.
func TestPrefixRules(t *testing.T) {
	for prefix, ok := range map[string]bool{
		"": false, "User": false, "user2": false, "_user": false, "user_": false, strings.Repeat("a", 64): false,
		strings.Repeat("a", 63): true, "u": true, "blog_post": true,
	} {
		current = prefix
		id := pk.Prefixed[*entity](high)
		text := id.String()
		back, err := pk.ParsePrefixed[*entity](text)
		_, err2 := id.MarshalText()
		_, err3 := json.Marshal(id)
		for _, err := range []error{err, err2, err3} {
			switch {
			case ok && (err != nil || back != id):
				t.Errorf("%q: %v, %v", text, back, err)
			case !ok:
				mustRefuse(t, text, err)
				if err != nil && !strings.Contains(err.Error(), "1 to 63 characters") {
					t.Errorf("%q: %v", text, err)
				}
			}
		}
		var scanned pk.Prefixed[*entity]
		if err := scanned.Scan(int64(high)); err != nil || scanned != id {
			t.Errorf("%q from a column: %v, %v", text, scanned, err)
		}
	}
}

// The prefix of an entity is current, so that a loop can try several.
type entity struct{}

var current string

func (*entity) Prefix() string { return current }
