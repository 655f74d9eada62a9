package lease_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/lease"
)

func TestTerms(t *testing.T) {
	terms := lease.Terms{Epoch: 1_000_000, Unit: 1000, PerTick: 4096, Ahead: 12_000_000}
	for _, tt := range []struct{ now, counter, limit int64 }{
		{1_000_000, 0, 12_001 * 4096},
		{1_000_999, 0, 12_001 * 4096},
		{1_001_000, 4096, 12_002 * 4096},
	} {
		if c, l := terms.Counter(tt.now), terms.Cap(tt.now); c != tt.counter || l != tt.limit {
			t.Errorf("at %d: counter %d, cap %d; want %d, %d", tt.now, c, l, tt.counter, tt.limit)
		}
	}
	// Reached is when a cap begins.
	for bound := int64(13_000*4096 - 9000); bound < 13_000*4096+9000; bound += 999 {
		at := terms.Reached(bound)
		if terms.Cap(at) < bound || terms.Cap(at-1) >= bound {
			t.Errorf("the cap is %d at %d, and %d before; want %d to be reached", terms.Cap(at), at, terms.Cap(at-1), bound)
		}
	}
	// A cap never falls, and lies behind every counter of the time Ahead.
	for now := int64(1_000_000); now < 1_010_000; now += 333 {
		if terms.Cap(now) > terms.Cap(now+1) || terms.Cap(now) <= terms.Counter(now+terms.Ahead)+terms.PerTick-1 {
			t.Fatalf("at %d the cap is %d", now, terms.Cap(now))
		}
	}
}

// Messages name the value and the remedy.
func TestErrors(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	cause := errors.New("connection refused")
	for _, tt := range []struct {
		err  error
		want []string
	}{
		{&lease.LostError{Namespace: "orders", Worker: 7, Since: at, Reason: "its row is gone"}, []string{"worker 7", `"orders"`, "2026-01-02T03:04:05Z", "its row is gone", "leasing another"}},
		{&lease.StoreError{Op: "renew", Err: cause}, []string{"renew", "connection refused", "trying again"}},
		{
			&lease.TakenError{Namespace: "orders", Min: 0, Max: 1023, Holders: []string{"a", "b", "c", "d", "e", "f", "g"}, NextFree: 12 * time.Second},
			[]string{"all 1024 worker numbers", `"orders"`, "a, b, c, d, e and 2 more", "12s", "widen"},
		},
		{&lease.LayoutError{Namespace: "orders", Stored: "one", Mine: "two", Err: cause}, []string{`"one"`, `"two"`, "connection refused", "the same layout"}},
		{&lease.HoldOffError{Namespace: "orders", For: time.Second}, []string{`"orders"`, "in 1s", "MaxClockSkew"}},
		{&lease.VolatileError{Namespace: "orders", Unit: time.Hour}, []string{`"orders"`, "1h0m0s", "flush"}},
		{&lease.NamespaceError{Namespace: "orders", Layout: "one"}, []string{`"orders"`, `"one"`, "check"}},
		{&lease.ClockSkewError{Host: at, Store: at.Add(time.Minute), Max: time.Second}, []string{"03:04:05Z", "03:05:05Z", "1s", "set one of them right"}},
		{&lease.ConfigError{Field: "TTL", Reason: "is odd"}, []string{"Config.TTL is odd"}},
	} {
		for _, want := range tt.want {
			if !strings.Contains(tt.err.Error(), want) {
				t.Errorf("%q does not say %q", tt.err, want)
			}
		}
	}
	if !errors.Is(&lease.StoreError{Op: "renew", Err: cause}, cause) {
		t.Error("a StoreError hides its cause")
	}
}
