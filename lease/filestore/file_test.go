package filestore

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/lease"
)

func TestFileNames(t *testing.T) {
	seen := make(map[string]string)
	for _, namespace := range []string{
		"", "a", "A", "b", "orders", "Orders", "ORDERS", ".", "..", "../a", "a/b", `a\b`, "a:b", "con", "a\nb", "ä", "Ä",
		strings.Repeat("x", 64), strings.Repeat("x", 63) + "X",
	} {
		name := fileName(namespace)
		if other, ok := seen[strings.ToLower(name)]; ok {
			t.Errorf("%q and %q are both %s where case is folded", namespace, other, name)
		}
		seen[strings.ToLower(name)] = namespace
		if len(name)+len(".")+26+len(unfinished) > 255 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" {
			t.Errorf("%q has the name %q", namespace, name)
		}
	}
}

// The store must neither use nor overwrite a damaged file.
func TestDamagedFile(t *testing.T) {
	s, p := newStore(t)
	path := filepath.Join(s.path, fileName(terms.Namespace))
	whole := files(t, s)[fileName(terms.Namespace)]
	first, body, _ := strings.Cut(whole, "\n")
	another, _ := newStore(t)
	other := terms
	other.Namespace = "another"
	errtest.Must(another.CreateNamespace(t.Context(), other, 0))(t)
	for what, text := range map[string]string{
		"empty":                "",
		"cut short":            whole[:len(whole)/2],
		"without its end":      whole[:len(whole)-1],
		"longer":               whole + "\n",
		"a digit changed":      strings.Replace(whole, fmt.Sprint(p.Held.Bound), fmt.Sprint(p.Held.Bound-1), 1),
		"without its header":   body,
		"of another checksum":  first[:len(first)-8] + "00000000\n" + body,
		"zeros":                strings.Repeat("\x00", len(whole)),
		"of another namespace": files(t, another)[fileName("another")],
		"of a later version":   strings.Replace(whole, "version 2", "version 3", 1),
	} {
		t.Run(what, func(t *testing.T) {
			if text == whole {
				t.Fatalf("%s: nothing is wrong with it", what)
			}
			errtest.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			ctx := t.Context()
			_, probed := s.Probe(ctx, lease.Query{Terms: terms})
			_, _, renewed := s.Renew(ctx, lease.Renewal{Terms: terms, Held: p.Held, Token: "second"})
			_, created := s.CreateNamespace(ctx, terms, 0)
			for _, err := range []error{probed, renewed, s.Fence(ctx, terms, ""), s.AddRows(ctx, terms, 0, 9), created} {
				if what == "of a later version" {
					if v, ok := errors.AsType[*lease.VersionError](err); !ok || v.Found != "3" || !strings.Contains(err.Error(), path) {
						t.Errorf("%s: %v", what, err)
					}
					continue
				}
				if !errors.Is(err, errDamaged) || !strings.Contains(err.Error(), path) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if err := s.Migrate(ctx); err != nil {
				t.Errorf("%s: other namespaces suffer: %v", what, err)
			}
			if got := files(t, s)[fileName(terms.Namespace)]; got != text {
				t.Errorf("%s: was written over by %q", what, got)
			}
		})
	}
	errtest.NoError(t, os.WriteFile(path, []byte(whole), 0o600))
	if !p.Renewed(t.Context()) {
		t.Error("the lease is lost, although the file is back")
	}
}

// FuzzDecode decodes files whose checksum is right. What is accepted can be used, and is the
// same after it has been written and read again.
func FuzzDecode(f *testing.F) {
	s := space{Namespace: "ns", File: "1:2", Current: "f", Layouts: []byte(`{"version":2}`), Rows: map[string]map[int64]json.RawMessage{"l": {1: []byte(`{"version":2,"bound":9}`)}}}
	text := errtest.Must(s.encode())(f)
	_, body, _ := strings.Cut(string(text), "\n")
	for _, seed := range []string{body, "{}", `{"namespace":"ns"}`, `{"namespace":"ns","layouts":null}`, `{"namespace":"ns","rows":{"l":{"1":null}}}`, `{"namespace":"ns","rows":{"l":null}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		text := fmt.Sprintf(header+"\n%s", protocol.Version, crc32.ChecksumIEEE([]byte(body)), body)
		s, err := decode("file", []byte(text), "ns")
		if err != nil {
			if !errors.Is(err, errDamaged) {
				t.Error(err)
			}
			return
		}
		first := errtest.Must(s.encode())(t)
		again := errtest.Must(decode("file", first, "ns"))(t)
		if second, err := again.encode(); err != nil || string(second) != string(first) {
			t.Errorf("%v: %s became %s", err, first, second)
		}
	})
}
