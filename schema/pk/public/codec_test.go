package public

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/snowkey-go/snowkey/internal/errtest"
)

// Other programs have computed the vectors; see testdata/README.md.
func TestVectors(t *testing.T) {
	var vectors []struct{ Key, Version, Entity, ID, Text string }
	errtest.NoError(t, json.Unmarshal(errtest.Must(os.ReadFile("testdata/vectors.json"))(t), &vectors))
	if len(vectors) < 40 {
		t.Fatalf("%d vectors", len(vectors))
	}
	for _, v := range vectors {
		key := errtest.Must(hex.DecodeString(v.Key))(t)
		id := errtest.Must(strconv.ParseInt(v.ID, 10, 64))(t)
		c := mustNew(t, Key{v.Version[0], key})
		if got, err := c.Encode(v.Entity, id); err != nil || got != v.Text {
			t.Errorf("%d of %q is %s, %v, want %s", id, v.Entity, got, err, v.Text)
		}
		if got, err := c.Decode(v.Entity, v.Text); err != nil || got != id {
			t.Errorf("%s is %d, %v, want %d", v.Text, got, err, id)
		}
	}
}

func TestRotation(t *testing.T) {
	a, b := Key{'A', secret(1)}, Key{'B', secret(2)}
	before, both, after := mustNew(t, a), mustNew(t, b, a), mustNew(t, b)
	old, _ := before.Encode("user", high)
	if id, err := both.Decode("user", old); err != nil || id != high {
		t.Errorf("an old id is %d, %v", id, err)
	}
	text, _ := both.Encode("user", high)
	if text[0] != 'B' || text == old {
		t.Errorf("a new id is %s, the old one %s", text, old)
	}
	if id, err := after.Decode("user", text); err != nil || id != high {
		t.Errorf("a new id is %d, %v", id, err)
	}
	refused(t, after, old)
	refused(t, before, text)
	// A process that isn't restarted yet must read what the others write. So the new key
	// is added as a reader first.
	ready := mustNew(t, a, b)
	if id, err := ready.Decode("user", text); err != nil || id != high {
		t.Errorf("a process with both keys reads %d, %v", id, err)
	}
}

func TestKeysRefused(t *testing.T) {
	good := hex.EncodeToString(secret(1))
	other := hex.EncodeToString(secret(2))
	for _, c := range []struct{ text, want string }{
		{"", "public: keys: there is none; make one with: openssl rand -hex 32"},
		{" ,\n", "public: keys: there is none; make one with: openssl rand -hex 32"},
		{good, "public: key 1: want VERSION:HEX, such as A: and the output of: openssl rand -hex 32"},
		{"A:" + good + " BB:" + other, "public: key 2: want VERSION:HEX, such as A: and the output of: openssl rand -hex 32"},
		{"A:" + good + " B:" + other[1:], `public: key 2 (version "B"): is not hex; make one with: openssl rand -hex 32`},
		{"A:" + strings.Replace(good, "0", "g", 1), `public: key 1 (version "A"): is not hex; make one with: openssl rand -hex 32`},
		{"A:" + hex.EncodeToString(secret(1)[1:]), `public: key 1 (version "A"): has 31 bytes, want 32; make one with: openssl rand -hex 32`},
		{"A:" + hex.EncodeToString(append(secret(1), 1)), `public: key 1 (version "A"): has 33 bytes, want 32; make one with: openssl rand -hex 32`},
		{"A:", `public: key 1 (version "A"): has 0 bytes, want 32; make one with: openssl rand -hex 32`},
		{"A:" + hex.EncodeToString(make([]byte, 32)), `public: key 1 (version "A"): has 32 equal bytes, which anyone can guess; make one with: openssl rand -hex 32`},
		{"-:" + good, `public: key 1 (version "-"): the version must be one of 0-9, A-Z and a-z`},
		{"A:" + good + ",A:" + other, `public: key 2 (version "A"): another key has this version; each key needs its own`},
		{"A:" + good + ",B:" + good, `public: key 2 (version "B"): is the same as key 'A'; make another with: openssl rand -hex 32`},
	} {
		codec, err := Load(c.text)
		if err == nil || codec != nil || err.Error() != c.want {
			t.Errorf("%q:\ngot  %v\nwant %s", c.text, err, c.want)
		}
		for _, s := range []string{good, other, good[2:12], other[2:12]} {
			if err != nil && strings.Contains(err.Error(), s) {
				t.Errorf("the error contains a secret: %v", err)
			}
		}
	}
}

func TestLoad(t *testing.T) {
	a, b := hex.EncodeToString(secret(1)), hex.EncodeToString(secret(2))
	want, _ := mustNew(t, Key{'B', secret(2)}).Encode("user", high)
	for _, text := range []string{"B:" + b + " A:" + a, "B:" + b + ",A:" + a, "B:" + b + "\nA:" + a + "\n", " B:" + b + ", A:" + a + " "} {
		c := errtest.Must(Load(text))(t)
		if got, err := c.Encode("user", high); got != want || err != nil {
			t.Errorf("%q writes %s, %v, want %s", text, got, err, want)
		}
	}
}

// The caller may overwrite its secret, and no text of a key or codec contains it.
func TestSecretsAreKept(t *testing.T) {
	key := Key{'A', secret(1)}
	c := mustNew(t, key)
	before, _ := c.Encode("user", high)
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("", "key", key, "codec", c)
	slog.New(slog.NewTextHandler(&log, nil)).Info("", "key", key, "codec", c)
	for _, text := range []string{fmt.Sprint(key), fmt.Sprintf("%+v %#v %x %s %q", key, key, key, key, key), fmt.Sprintf("%v %+v", c, []Key{key}), log.String()} {
		for _, leak := range []string{"7 7 7", "0x7, 0x7", "070707", "\a\a\a", `\a\a`, "BwcHBw", "BwcH"} {
			if strings.Contains(text, leak) {
				t.Errorf("the secret is in %q", text)
			}
		}
	}
	clear(key.Secret)
	if after, err := c.Encode("post", high); err != nil {
		t.Errorf("Encode of an entity that is new: %q, %v", after, err)
	} else if id, err := mustNew(t, Key{'A', secret(1)}).Decode("post", after); err != nil || id != high {
		t.Errorf("the codec has used the caller's memory: %d, %v", id, err)
	}
	if after, _ := c.Encode("user", high); after != before {
		t.Errorf("%s has become %s", before, after)
	}
}

func TestConcurrentUse(t *testing.T) {
	c := mustNew(t, Key{'A', secret(1)})
	var wg sync.WaitGroup
	for g := range int64(8) {
		wg.Go(func() {
			for n := range int64(200) {
				entity := strconv.FormatInt((n+g)%50, 10)
				text, err := c.Encode(entity, n)
				if back, err2 := c.Decode(entity, text); err != nil || err2 != nil || back != n {
					t.Errorf("%d of %s: %v, %d, %v", n, entity, err, back, err2)
				}
			}
		})
	}
	wg.Wait()
}

func TestAllocations(t *testing.T) {
	c := mustNew(t, Key{'A', secret(1)})
	text, _ := c.Encode("user", high)
	buf := make([]byte, 0, 64)
	for _, m := range []struct {
		name string
		most float64
		do   func()
	}{
		{"Append", 0, func() { buf, _ = c.Append(buf[:0], "user", high) }},
		{"Encode", 2, func() { _, _ = c.Encode("user", high) }},
		{"Decode", 1, func() { _, _ = c.Decode("user", text) }},
	} {
		if got := testing.AllocsPerRun(100, m.do); got > m.most {
			t.Errorf("%s allocates %v times, want at most %v", m.name, got, m.most)
		}
	}
}

// A program may take the entity from a request. Decode must not remember those that no id
// belongs to.
func TestDecodeRemembersRealEntities(t *testing.T) {
	c := errtest.Must(Load("A:98658f56aa0efc6f5309484db584619996d33e372b1194aef46ecb56bb04c565"))(t)
	text := errtest.Must(c.Encode("user", 280421183266521089))(t)
	for i := range 1000 {
		if id, err := c.Decode(fmt.Sprint("user", i), text); err == nil {
			t.Fatalf("it is %d of another entity", id)
		}
	}
	if n := len(*c.writes.tags.Load()); n != 1 {
		t.Errorf("it remembers %d entities", n)
	}
	// Another process decodes what this one has encoded.
	other := errtest.Must(Load("A:98658f56aa0efc6f5309484db584619996d33e372b1194aef46ecb56bb04c565"))(t)
	for range 2 {
		if id, err := other.Decode("user", text); err != nil || id != 280421183266521089 {
			t.Errorf("it is %d, %v", id, err)
		}
	}
	if n := len(*other.writes.tags.Load()); n != 1 {
		t.Errorf("after it has decoded an id, it remembers %d entities", n)
	}
}
