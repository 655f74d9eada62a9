package zkstore

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/lease"
)

// A write that was executed in another epoch, or on another node, does not do what it
// was meant to.
func TestWritesOfAnotherEpochOrNode(t *testing.T) {
	read := zk.Stat{Czxid: 3<<32 + 7}
	data := encode(`{"bound":5}`, `{"bound":6}`, &era{"x", 3}, &read)
	for what, tt := range map[string]struct {
		stat zk.Stat
		want string
	}{
		"in time":           {zk.Stat{Czxid: 3<<32 + 7, Mzxid: 3<<32 + 9}, `{"bound":6}`},
		"by a later leader": {zk.Stat{Czxid: 3<<32 + 7, Mzxid: 4<<32 + 9}, `{"bound":5}`},
		"on another node":   {zk.Stat{Czxid: 3<<32 + 8, Mzxid: 3<<32 + 9}, ""},
	} {
		if got, err := decode("/x", answer{data, &tt.stat}); got != tt.want || err != nil {
			t.Errorf("%s: got %q, %v; want %q", what, got, err, tt.want)
		}
	}
	added := encode("", `{"bound":6}`, &era{"x", 3}, &read)
	if got, err := decode("/x", answer{added, &zk.Stat{Czxid: 3<<32 + 7, Mzxid: 4<<32 + 9}}); got != "" || err != nil {
		t.Errorf("added by a later leader: got %q, %v", got, err)
	}
	if got, err := decode("/x", answer{[]byte(`{"text": 7}`), &zk.Stat{}}); got != "7" || err != nil {
		t.Errorf("by hand: got %q, %v", got, err)
	}
}

func TestNames(t *testing.T) {
	seen := make(map[string]string)
	for _, text := range []string{"", ".", "..", "...", "%", "%2E", "a/b", "a b", "ä", "\x00", "\xff", "zookeeper", "🜁"} {
		name := escape(text)
		if err := checkPath("/x/" + name); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if other, ok := seen[name]; ok {
			t.Errorf("%q and %q are both %q", text, other, name)
		}
		seen[name] = text
	}
}

// The leader's time has milliseconds, so a margin that is rounded down would be too small.
func TestSkewIsRoundedUp(t *testing.T) {
	for skew, want := range map[int64]int64{0: 0, 1: 1000, 1000: 1000, 1001: 2000} {
		if got := whole(lease.Terms{Skew: skew}).Skew; got != want {
			t.Errorf("%d µs are %d µs, want %d", skew, got, want)
		}
	}
}
