package main

import (
	"bytes"
	"fmt"
	"runtime"
	"time"

	hashids "github.com/speps/go-hashids/v2"
	"github.com/sqids/sqids-go"

	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/schema/pk/public"
)

// publicIDs measures the cost of text that hides an id. Public ids are encrypted and can't
// be forged, whereas Sqids and Hashids only obscure a number.
func publicIDs() (topic, error) {
	const number = 1<<62 + 1 // 19 digits
	codec, err := public.New(public.Key{Version: 'A', Secret: bytes.Repeat([]byte("ab"), 16)})
	if err != nil {
		return topic{}, err
	}
	squid, err := sqids.New()
	if err != nil {
		return topic{}, fmt.Errorf("sqids/sqids-go: %w", err)
	}
	hash, err := hashids.NewWithData(&hashids.HashIDData{Alphabet: hashids.DefaultAlphabet, Salt: "a salt that nobody knows"})
	if err != nil {
		return topic{}, fmt.Errorf("speps/go-hashids: %w", err)
	}
	ours, err1 := codec.Encode("user", number)
	sqid, err2 := squid.Encode([]uint64{number})
	hashed, err3 := hash.EncodeInt64([]int64{number})
	for name, err := range map[string]error{"snowkey": err1, "sqids/sqids-go": err2, "speps/go-hashids": err3} {
		if err != nil {
			return topic{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	encode := func() error { _, err := codec.Encode("user", number); return err }
	decode := func() error { _, err := codec.Decode("user", ours); return err }
	base62 := pk.FormatBase62(number)

	t := topic{
		name:  "PublicIDs",
		title: "Text that hides an id",
		note: fmt.Sprintf("A public id has %d characters, can't be forged, and doesn't show how ids differ. Sqids (%d) and Hashids (%d) can be\n"+
			"  undone by anyone who knows the alphabet or salt, and both can be enumerated.", len(ours), len(sqid), len(hashed)),
	}
	for _, c := range []struct {
		name   string
		work   func() error
		beside string
		theirs func() error
		peer   side
	}{
		{"public, encode", encode, "pk.FormatBase62", func() error { runtime.KeepAlive(pk.FormatBase62(number)); return nil }, neither},
		{"public, decode", decode, "pk.ParseBase62", func() error { _, err := pk.ParseBase62(base62); return err }, neither},
		{"public, encode", encode, "Sqids", func() error { _, err := squid.Encode([]uint64{number}); return err }, itsYardstick},
		{"public, decode", decode, "Sqids", func() error { _ = squid.Decode(sqid); return nil }, itsYardstick},
		{"public, encode", encode, "Hashids", func() error { _, err := hash.EncodeInt64([]int64{number}); return err }, itsYardstick},
		{"public, decode", decode, "Hashids", func() error { _, err := hash.DecodeInt64WithError(hashed); return err }, itsYardstick},
	} {
		t.trials = append(t.trials, trial{
			name: c.name, work: repeat(c.work),
			against: c.beside, yardstick: repeat(c.theirs),
			pace: pace{turn: 5 * time.Millisecond}, peer: c.peer,
		})
	}
	return t, nil
}
