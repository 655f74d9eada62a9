package token_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/token"
)

// A party issues and verifies tokens.
type party interface {
	issue(ttl time.Duration) (text string, err error)
	verify(text string) (id int64, expires time.Time, err error)
}

// A bench makes parties that share a source of ids and a clock.
type bench struct {
	party func(keys, purpose string) party
	ids   *idgen.Pool
	now   time.Time
}

var start = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{now: start}
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close(context.Background()) })
	b.ids = pool
	b.party = func(keys, purpose string) party { return &signers{b, keys, purpose} }
	return b
}

func (b *bench) clock() time.Time { return b.now }

// withReference returns a bench whose parties are references.
func (b *bench) withReference() *bench {
	variant := *b
	variant.party = func(keys, purpose string) party {
		return &reference{keys: keys, purpose: purpose, clock: variant.clock, ids: func() int64 {
			id, err := b.ids.Next(context.Background())
			if err != nil {
				panic(err)
			}
			return id
		}}
	}
	return &variant
}

// signers is the party of this package. It has a signer for each TTL.
type signers struct {
	bench         *bench
	keys, purpose string
}

func (s *signers) signer(ttl time.Duration) *token.Signer {
	keys, err := token.ParseKeys(s.keys)
	if err != nil {
		panic(err)
	}
	signer, err := token.New(token.Config{Keys: keys, Purpose: s.purpose, TTL: ttl, IDs: s.bench.ids, Clock: s.bench.clock})
	if err != nil {
		panic(err)
	}
	return signer
}

func (s *signers) issue(ttl time.Duration) (string, error) {
	issued, err := s.signer(ttl).Issue(context.Background())
	return issued.Text(), err
}

func (s *signers) verify(text string) (int64, time.Time, error) {
	verified, err := s.signer(0).Verify(text)
	if err != nil && verified != (token.Token{}) {
		err = fmt.Errorf("Verify returns %v and the error %w", verified, err)
	}
	return verified.ID, verified.Expires, err
}

var (
	key1  = "1:" + strings.Repeat("0123456789abcdef", 4)
	other = "1:" + strings.Repeat("0123456789abcdee", 4) // another secret of the same key
	key2  = "2:" + strings.Repeat("f123456789abcdef", 4)
)

// A property is something that every implementation must have.
type property struct {
	name  string
	check func(*bench) error
}

var properties = []property{
	{"a token is accepted until it expires", expires},
	{"a token with a changed byte is invalid", changedByte},
	{"a token with a later expiry is invalid", laterExpiry},
	{"a part of a token is invalid", parts},
	{"a token has one spelling", spellings},
	{"a token of another key is invalid", otherKeys},
	{"a key that was removed is not accepted", rotation},
	{"a token of another purpose is invalid", otherPurpose},
	{"a forged token does not tell whether it has expired", oracle},
	{"tokens sort as their ids", order},
	{"each token has random bits of its own", randomBits},
}

func TestProperties(t *testing.T) {
	for _, p := range properties {
		t.Run(p.name, func(t *testing.T) {
			b := newBench(t)
			if err := p.check(b); err != nil {
				t.Error(err)
			}
			if err := p.check(b.withReference()); err != nil {
				t.Errorf("the reference: %v", err)
			}
		})
	}
}

// refuse returns an error unless the party finds the text invalid.
func refuse(p party, text string) error {
	if id, _, err := p.verify(text); err != token.ErrInvalid {
		return fmt.Errorf("%w: %q gives %d, %v", errAccepted, text, id, err)
	}
	return nil
}

func expires(b *bench) error {
	p := b.party(key1, "session")
	text, err := p.issue(time.Hour)
	if err != nil {
		return err
	}
	defer func() { b.now = start }()
	for after, want := range map[time.Duration]error{
		0: nil, time.Hour - time.Millisecond: nil, time.Hour: token.ErrExpired, 100 * 365 * 24 * time.Hour: token.ErrExpired,
	} {
		b.now = start.Add(after)
		id, expires, err := p.verify(text)
		if err != want || (err == nil && (id == 0 || !expires.Equal(start.Add(time.Hour)))) {
			return fmt.Errorf("after %v, the token is %d until %v, %v", after, id, expires, err)
		}
	}
	return nil
}

// change returns the token with other bytes.
func change(text string, f func(b []byte)) string {
	b, _ := decode(text[4:])
	f(b)
	return text[:4] + encode(b)
}

func changedByte(b *bench) error {
	p := b.party(key1, "session")
	text, err := p.issue(time.Hour)
	if err != nil {
		return err
	}
	for i := range 63 {
		for bit := range 8 {
			if err := refuse(p, change(text, func(b []byte) { b[i] ^= 1 << bit })); err != nil {
				return fmt.Errorf("byte %d, bit %d: %w", i, bit, err)
			}
		}
	}
	return nil
}

func laterExpiry(b *bench) error {
	p := b.party(key1, "session")
	text, err := p.issue(time.Hour)
	if err != nil {
		return err
	}
	b.now = start.Add(2 * time.Hour)
	defer func() { b.now = start }()
	return refuse(p, change(text, func(b []byte) { b[25]++ }))
}

func parts(b *bench) error {
	p := b.party(key1, "session")
	text, err := p.issue(time.Hour)
	if err != nil {
		return err
	}
	for i := range text {
		if err := errors.Join(refuse(p, text[:i]), refuse(p, text[i+1:])); err != nil {
			return err
		}
	}
	return errors.Join(refuse(p, text+text), refuse(p, text+"----"), refuse(p, "----"+text))
}

func spellings(b *bench) error {
	p := b.party(key1, "session")
	text, err := p.issue(time.Hour)
	if err != nil {
		return err
	}
	for _, other := range []string{
		text + "\n", " " + text, text[:40] + "\n" + text[40:], text[:40] + "\r" + text[41:], text + "=", text + "====",
		"ST1_" + text[4:], "st2_" + text[4:], "st1-" + text[4:], text[4:], `"` + text + `"`, text + "\x00",
		text[:87] + "=", text[:87] + "+", text[:87] + "\n", text[:87] + "\x80", strings.Repeat("x", 1<<20),
	} {
		if err := refuse(p, other); err != nil {
			return err
		}
	}
	// Each last character but one has other bits, since 63 bytes leave none unused.
	for _, last := range sorted {
		if string(last) != text[87:] {
			if err := refuse(p, text[:87]+string(last)); err != nil {
				return err
			}
		}
	}
	return nil
}

func otherKeys(b *bench) error {
	text, err := b.party(key1, "session").issue(time.Hour)
	if err != nil {
		return err
	}
	return errors.Join(refuse(b.party(key2, "session"), text), refuse(b.party(other, "session"), text))
}

func rotation(b *bench) error {
	old, err := b.party(key1+","+key2, "session").issue(time.Hour)
	if err != nil {
		return err
	}
	next, err := b.party(key2+","+key1, "session").issue(time.Hour)
	if err != nil {
		return err
	}
	for _, keys := range []string{key1 + "," + key2, key2 + "," + key1} {
		for _, text := range []string{old, next} {
			if _, _, err := b.party(keys, "session").verify(text); err != nil {
				return fmt.Errorf("during the rotation: %w", err)
			}
		}
	}
	after := b.party(key2, "session")
	if _, _, err := after.verify(next); err != nil {
		return fmt.Errorf("after the rotation: %w", err)
	}
	return errors.Join(refuse(after, old), refuse(b.party(key1, "session"), next))
}

func otherPurpose(b *bench) error {
	text, err := b.party(key1, "session").issue(time.Hour)
	if err != nil {
		return err
	}
	for _, purpose := range []string{"password reset", "Session", "sessio", "session ", "session\x00", "s"} {
		if err := refuse(b.party(key1, purpose), text); err != nil {
			return fmt.Errorf("%q: %w", purpose, err)
		}
	}
	return nil
}

func oracle(b *bench) error {
	p := b.party(key1, "session")
	text, err := p.issue(time.Hour)
	if err != nil {
		return err
	}
	return refuse(p, change(text, func(b []byte) { clear(b[24:30]) }))
}

func order(b *bench) error {
	p := b.party(key1, "session")
	type issued struct {
		text string
		id   int64
	}
	var tokens []issued
	for range 1000 {
		text, err := p.issue(time.Hour)
		if err != nil {
			return err
		}
		id, _, err := p.verify(text)
		if err != nil {
			return err
		}
		tokens = append(tokens, issued{text, id})
	}
	slices.SortFunc(tokens, func(a, b issued) int { return strings.Compare(a.text, b.text) })
	if !slices.IsSortedFunc(tokens, func(a, b issued) int { return cmp.Compare(a.id, b.id) }) {
		return errors.New("the order of the texts is not the order of the ids")
	}
	return nil
}

func randomBits(b *bench) error {
	p := b.party(key1, "session")
	const tokens = 1000
	var ones [128]int
	seen := make(map[string]bool)
	for range tokens {
		text, err := p.issue(time.Hour)
		if err != nil {
			return err
		}
		raw, _ := decode(text[4:])
		seen[string(raw[8:24])] = true
		for i := range ones {
			ones[i] += int(raw[8+i/8] >> (i % 8) & 1)
		}
	}
	if len(seen) != tokens {
		return fmt.Errorf("%d tokens have %d different random parts", tokens, len(seen))
	}
	// Ten standard deviations of 1,000 coins are 158.
	for i, n := range ones {
		if n < tokens/2-158 || n > tokens/2+158 {
			return fmt.Errorf("bit %d is 1 in %d of %d tokens", i, n, tokens)
		}
	}
	return nil
}
