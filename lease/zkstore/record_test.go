package zkstore

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

// TestNodesHoldWhatAStoreWithAClockHolds makes random updates of one row, at random
// times, in a store that has a clock, and in a node whose readers apply the last update
// at the time at which it was written. Both have the same row after each update.
func TestNodesHoldWhatAStoreWithAClockHolds(t *testing.T) {
	const runs, steps = 200, 50
	if changed := compareUpdates(t, runs, steps, timeOf); t.Failed() || changed < runs*steps/4 {
		t.Errorf("%d of %d updates had an effect", changed, runs*steps)
	}
}

// If readers took the time from another clock, the rows would differ.
func TestNodesAreAppliedAtTheirTime(t *testing.T) {
	probe := &recorder{TB: t}
	compareUpdates(probe, 20, 50, func(stat *zk.Stat) int64 { return timeOf(stat) + time.Minute.Microseconds() })
	if !probe.failed {
		t.Error("the comparison doesn't notice another clock")
	}
}

// A recorder only records that a test has failed.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Errorf(string, ...any) { r.failed = true }

// compareUpdates returns how many updates changed the row. now returns the time of
// a write for the store with a clock.
func compareUpdates(t testing.TB, runs, steps int, now func(*zk.Stat) int64) (changed int) {
	terms := lease.Terms{Namespace: "orders", Layout: "41/10/12", Unit: 1000, PerTick: 4096, Workers: 1024,
		Ahead: 12_000_000, Skew: 2_000_000, TTL: 15_000_000}
	for range runs {
		stat := &zk.Stat{Czxid: 7, Mzxid: 3<<32 + 7, Mtime: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()}
		clock := &leasetest.Memory{Clock: func() time.Time { return time.UnixMicro(now(stat)) }}
		ctx := t.Context()
		must(t, clock.AddRows(ctx, terms, 7, 7))
		if _, err := clock.CreateNamespace(ctx, terms, 0); err != nil {
			t.Fatal(err)
		}
		probe, err := clock.Probe(ctx, lease.Query{Terms: terms, Max: 1023})
		must(t, err)
		node := rowNode{change: change{Do: doAdd, Terms: termsOf(terms)}}
		for step := range steps {
			held, _, err := node.apply(7, stat)
			must(t, err)
			if step > 0 {
				*stat = zk.Stat{Czxid: 7, Mzxid: stat.Mzxid + 1, Mtime: stat.Mtime + rand.Int64N(20_000)}
			}
			next := rowNode{Before: stateOf(held), change: change{Node: 7, Epoch: 3, Terms: termsOf(terms)}, Token: strconv.Itoa(step + 1)}
			wanted := held.Bound + rand.Int64N(40_000*4096) - 10_000*4096
			var ok bool
			switch rand.IntN(4) {
			case 0:
				next.Do, next.Label, next.Wanted = doClaim, escape("host/1"), wanted
				_, ok, err = clock.Claim(ctx, lease.Claim{Terms: terms, Seen: held, Fence: probe.Fence, Token: next.Token, Label: "host/1", Wanted: wanted})
			case 1, 2:
				next.Do, next.Wanted = doRenew, wanted
				_, ok, err = clock.Renew(ctx, lease.Renewal{Terms: terms, Held: held, Token: next.Token, Wanted: wanted})
			case 3:
				next.Do, next.Unused = doRelease, wanted
				ok, err = clock.Release(ctx, terms, held, wanted)
			}
			must(t, err)
			got, gotOK, err := next.apply(7, stat)
			must(t, err)
			rows, err := clock.Rows(ctx, terms, 7, 7)
			must(t, err)
			want := rows[0]
			if got.Now, want.Now = 0, 0; got != want || gotOK != ok {
				t.Errorf("%+v of %+v: got %+v, %v; want %+v, %v", next, held, got, gotOK, want, ok)
				return changed
			}
			if node = next; ok {
				changed++
			}
		}
	}
	return changed
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A write that was executed in another epoch, or on another node, does not do what it
// was meant to.
func TestWritesOfAnotherEpochOrNode(t *testing.T) {
	terms := lease.Terms{Unit: 1000, PerTick: 4096, Ahead: 12_000_000, TTL: 15_000_000}
	before := state{Token: "a", Revision: 3, Bound: 5, Expires: 1 << 60, Label: "host"}
	n := rowNode{Before: before, change: change{Do: doRenew, Node: 7, Epoch: 3, Terms: termsOf(terms)}, Token: "b", Wanted: 1 << 60}
	stat := zk.Stat{Czxid: 7, Mzxid: 3<<32 + 9, Mtime: 1_000_000}
	if row, ok, err := n.apply(1, &stat); !ok || err != nil || row.Token != "b" {
		t.Errorf("got %+v, %v, %v", row, ok, err)
	}
	later := stat
	later.Mzxid += 1 << 32
	if row, ok, err := n.apply(1, &later); ok || err != nil || stateOf(row) != before {
		t.Errorf("by a later leader: got %+v, %v, %v", row, ok, err)
	}
	other := stat
	other.Czxid++
	limit := terms.At(timeOf(&other)).Cap
	if row, ok, err := n.apply(1, &other); ok || err != nil || row.Token != "" || row.Revision != 0 || row.Bound != limit {
		t.Errorf("on another node: got %+v, %v, %v; want a free row with the bound %d", row, ok, err, limit)
	}
}

func TestNames(t *testing.T) {
	seen := make(map[string]string)
	for _, text := range []string{"", ".", "..", "...", "%", "%2E", "a/b", "a b", "ä", "\x00", "\xff", "zookeeper", "🜁"} {
		name := escape(text)
		if back, err := unescape(name); back != text || err != nil {
			t.Errorf("%q became %q, and then %q, %v", text, name, back, err)
		}
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
