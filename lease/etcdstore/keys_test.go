package etcdstore

import (
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// Two names must never have the same key, and no name may leave its namespace.
func TestKeys(t *testing.T) {
	s := New(nil)
	seen := make(map[string]string)
	for _, namespace := range []string{"", "a", "a/", "a/b", "a%2Fb", "/", "..", "a/rows/", "ä", "a\nb"} {
		for _, layout := range []string{"", "41/10/12", "41%2F10%2F12", "x/0000000000000000007"} {
			k := s.keys(namespace)
			for _, key := range []string{k.text(layout, 7), k.text(layout, 1<<62)} {
				name := namespace + "\x00" + layout
				if other, ok := seen[key]; ok && other != name {
					t.Errorf("%q and %q have the key %q", other, name, key)
				}
				seen[key] = name
			}
		}
	}
}

func TestDamagedValues(t *testing.T) {
	kv := &mvccpb.KeyValue{Key: []byte("k"), Value: []byte("not ours")}
	if err := decode(kv, new(vouch)); err == nil {
		t.Error("a vouch is read from anything")
	}
	if _, err := decodeNumber(kv); err == nil {
		t.Error("a number is read from anything")
	}
}
