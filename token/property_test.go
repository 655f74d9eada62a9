package token_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/token"
)

var start = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

var (
	key1  = "1:" + strings.Repeat("0123456789abcdef", 4)
	other = "1:" + strings.Repeat("0123456789abcdee", 4) // another secret of the same key
	key2  = "2:" + strings.Repeat("f123456789abcdef", 4)
)

const sorted = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

var digits = base64.NewEncoding(sorted).WithPadding(base64.NoPadding)

// A bench has a source of ids and a clock for several signers.
type bench struct {
	testing.TB
	ids *idgen.Pool
	now time.Time
}

func newBench(t testing.TB) *bench {
	t.Helper()
	pool := errtest.Must(idgen.NewPool(idgen.Config{Worker: worker.Static(1)}))(t)
	t.Cleanup(func() { pool.Close(context.Background()) })
	return &bench{t, pool, start}
}

func (b *bench) clock() time.Time { return b.now }

// signer returns a signer whose tokens last an hour.
func (b *bench) signer(keys, purpose string) *token.Signer {
	b.Helper()
	return errtest.Must(token.New(token.Config{Keys: mustKeys(b, keys), Purpose: purpose, TTL: time.Hour, IDs: b.ids, Clock: b.clock}))(b)
}

// issue issues a token with key1.
func (b *bench) issue() (*token.Signer, string) {
	b.Helper()
	signer := b.signer(key1, "session")
	return signer, b.issueWith(signer)
}

func (b *bench) issueWith(signer *token.Signer) string {
	b.Helper()
	issued := errtest.Must(signer.Issue(context.Background()))(b)
	return issued.Text()
}

// refuses fails the test unless the signer finds each text invalid.
func (b *bench) refuses(signer *token.Signer, texts ...string) {
	b.Helper()
	for _, text := range texts {
		if verified, err := signer.Verify(text); err != token.ErrInvalid || verified != (token.Token{}) {
			b.Errorf("%.200q gives %v, %v", text, verified, err)
		}
	}
}

func (b *bench) accepts(signer *token.Signer, texts ...string) {
	b.Helper()
	for _, text := range texts {
		if _, err := signer.Verify(text); err != nil {
			b.Errorf("%q gives %v", text, err)
		}
	}
}

// change returns the token with other bytes.
func change(text string, f func(b []byte)) string {
	b, _ := digits.DecodeString(text[4:])
	f(b)
	return text[:4] + digits.EncodeToString(b)
}

func TestChangedTokensAreInvalid(t *testing.T) {
	b := newBench(t)
	signer, text := b.issue()
	for i := range 63 {
		for bit := range 8 {
			b.refuses(signer, change(text, func(b []byte) { b[i] ^= 1 << bit }))
		}
	}
	for i := range text {
		b.refuses(signer, text[:i], text[i+1:])
	}
	b.refuses(signer, text+text, text+"----", "----"+text)
	// A forged token does not show whether it has expired.
	b.refuses(signer, change(text, func(b []byte) { clear(b[24:30]) }))
	b.now = start.Add(2 * time.Hour)
	b.refuses(signer, change(text, func(b []byte) { b[25]++ })) // a later expiry
}

func TestTokenHasOneSpelling(t *testing.T) {
	b := newBench(t)
	signer, text := b.issue()
	b.refuses(signer,
		text+"\n", " "+text, text[:40]+"\n"+text[40:], text[:40]+"\r"+text[41:], text+"=", text+"====",
		"ST1_"+text[4:], "st2_"+text[4:], "st1-"+text[4:], text[4:], `"`+text+`"`, text+"\x00",
		text[:87]+"=", text[:87]+"+", text[:87]+"\n", text[:87]+"\x80", strings.Repeat("x", 1<<20))
	// Each last character but one has other bits, since 63 bytes leave none unused.
	for _, last := range sorted {
		if string(last) != text[87:] {
			b.refuses(signer, text[:87]+string(last))
		}
	}
}

func TestOtherKeysAndPurposes(t *testing.T) {
	b := newBench(t)
	_, text := b.issue()
	b.refuses(b.signer(key2, "session"), text)
	b.refuses(b.signer(other, "session"), text)
	for _, purpose := range []string{"password reset", "Session", "sessio", "session ", "session\x00", "s"} {
		b.refuses(b.signer(key1, purpose), text)
	}
}

func TestRotation(t *testing.T) {
	b := newBench(t)
	before, during, after := b.signer(key1+","+key2, "session"), b.signer(key2+","+key1, "session"), b.signer(key2, "session")
	old, next := b.issueWith(before), b.issueWith(during)
	b.accepts(before, old, next)
	b.accepts(during, old, next)
	b.accepts(after, next)
	b.refuses(after, old)
	b.refuses(b.signer(key1, "session"), next)
}

// Tokens sort as their ids, and each has random bits of its own.
func TestOrderAndRandomBits(t *testing.T) {
	b := newBench(t)
	signer := b.signer(key1, "session")
	var tokens []token.Token
	var ones [128]int
	seen := make(map[string]bool)
	for range 1000 {
		issued := errtest.Must(signer.Issue(t.Context()))(t)
		tokens = append(tokens, issued)
		raw, _ := digits.DecodeString(issued.Text()[4:])
		seen[string(raw[8:24])] = true
		for i := range ones {
			ones[i] += int(raw[8+i/8] >> (i % 8) & 1)
		}
	}
	slices.SortFunc(tokens, func(a, b token.Token) int { return strings.Compare(a.Text(), b.Text()) })
	if !slices.IsSortedFunc(tokens, func(a, b token.Token) int { return cmp.Compare(a.ID, b.ID) }) {
		t.Error("the order of the texts is not the order of the ids")
	}
	if len(seen) != len(tokens) {
		t.Errorf("%d tokens have %d different random parts", len(tokens), len(seen))
	}
	// Ten standard deviations of 1,000 coins are 158.
	for i, n := range ones {
		if n < 500-158 || n > 500+158 {
			t.Errorf("bit %d is 1 in %d of %d tokens", i, n, len(tokens))
		}
	}
}

// FuzzVerify checks that Verify accepts only what the signer has issued. That is the same in all
// processes of the fuzzer, which share what they find.
func FuzzVerify(f *testing.F) {
	all := vectors(f)
	first := all[0]
	signer := newBench(f).signer(fmt.Sprintf("%d:%s", first.Key, first.Secret), first.Purpose)
	var issued []string
	for _, v := range all {
		f.Add(v.Text)
		if v.Secret == first.Secret && v.Key == first.Key && v.Purpose == first.Purpose {
			issued = append(issued, v.Text)
		}
	}
	f.Add(first.Text[:40] + "\n" + first.Text[41:])
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		verified, err := signer.Verify(text)
		if !slices.Contains(issued, text) && err != token.ErrInvalid && err != token.ErrExpired || verified != (token.Token{}) && err != nil {
			t.Fatalf("Verify(%q) = %v, %v", text, verified, err)
		}
	})
}

// FuzzParseKeys checks that no error shows more than a few characters of the text.
func FuzzParseKeys(f *testing.F) {
	for _, text := range []string{"", key1, key1 + "," + key2, key1 + "," + other, "1:xyz", strings.Repeat("1:ab,", 20)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := token.ParseKeys(text)
		if err != nil {
			for i := range max(0, len(text)-8) {
				if strings.Contains(err.Error(), text[i:i+8]) && !strings.Contains("rand -hex 32 to 64", text[i:i+8]) {
					t.Fatalf("ParseKeys(%q): the error shows a part of the text: %v", text, err)
				}
			}
			return
		}
		if _, err := token.New(token.Config{Keys: keys}); err != nil {
			t.Fatalf("ParseKeys(%q) is accepted, but New returns %v", text, err)
		}
	})
}
