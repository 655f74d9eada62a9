package redisstore

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/leaserule"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/redisstore"
)

// edges are numbers whose neighbours a double can't tell apart.
var edges = func() (all []int64) {
	for _, n := range []int64{0, 999_999, 1_000_000, 1e12, 1e18, 1 << 52, 1 << 53, 1 << 54, 1 << 62, math.MaxInt64 - 1} {
		all = append(all, n-1, n, n+1, -n-1, -n, -n+1)
	}
	return append(all, math.MinInt64)
}()

func anyInt64() int64 {
	if rand.IntN(2) == 0 {
		return edges[rand.IntN(len(edges))]
	}
	return int64(rand.Uint64()) >> rand.IntN(64)
}

// The scripts calculate with 64 bits, or fail. Each result is compared with math/big.
func TestScriptsCalculateExactly(t *testing.T) {
	t.Parallel()
	client := connect(t, dbtest.Redis().Start(t).Address)
	lib := dbtest.Must(os.ReadFile("../../lease/redisstore/scripts/lib.lua"))(t)
	script := redis.NewScript(string(lib) + `
local a, b = parse(ARGV[1]), parse(ARGV[2])
local out = {}
for i, f in ipairs({
	function() return text(add(a, b)) end,
	function() return text(multiply(a, b)) end,
	function() return text(divide(a, tonumber(ARGV[3]))) end,
	function() return text(least(a, b)) end,
	function() return text(most(a, b)) end,
	function() return text(a) end,
}) do
	local ok, result = pcall(f)
	out[i] = ok and result or 'overflow'
end
return out`)
	const longest = (1<<53 - 1) / 10
	overflows := 0
	for range 4000 {
		a, b := anyInt64(), anyInt64()
		unit := max(min(max(anyInt64(), 1), longest), 1)
		if rand.IntN(4) == 0 && a > math.MinInt64+longest {
			a = a/unit*unit - int64(rand.IntN(2)) // at the end of a tick, or just before it
		}
		got := dbtest.Must(script.Run(t.Context(), client, nil, fmt.Sprint(a), fmt.Sprint(b), unit).StringSlice())(t)
		bigA, bigB := big.NewInt(a), big.NewInt(b)
		exact := func(n *big.Int) string {
			if !n.IsInt64() {
				overflows++
				return "overflow"
			}
			return n.String()
		}
		want := []string{
			exact(new(big.Int).Add(bigA, bigB)), exact(new(big.Int).Mul(bigA, bigB)),
			fmt.Sprint(a / unit), fmt.Sprint(min(a, b)), fmt.Sprint(max(a, b)), fmt.Sprint(a),
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d, %d and the unit %d give %v, want %v", a, b, unit, got, want)
		}
	}
	if overflows == 0 {
		t.Error("nothing overflowed")
	}
}

// anyTerms returns terms whose limits fit into 64 bits, but not into a double.
func anyTerms() lease.Terms {
	now := time.Now().UnixMicro()
	pick := func(of ...int64) int64 { return of[rand.IntN(len(of))] }
	t := lease.Terms{
		Namespace: "exact", Layout: "layout", Workers: 8,
		Unit:  pick(1, 7, 1000, 999_999, 1_000_000, 86_400_000_000, (1<<53-1)/10),
		Epoch: pick(0, 1, now-1, now+1e15, -62135596800000000, -9_007_199_254_740_993),
		Ahead: pick(0, 1, 12_000_000, 1e15+1), Skew: pick(0, 1, 2_000_000),
		TTL: pick(1, 900_000_000, 900_000_001, 1<<53+1, 1<<62+1),
	}
	// As many counters in a tick as there can be, or a few less.
	ticks := max(now+t.Ahead+t.Skew-t.Epoch, t.Epoch-now)/t.Unit + 2 + 120_000_000/t.Unit
	t.PerTick = max(math.MaxInt64/ticks-int64(rand.IntN(3)), 1)
	if rand.IntN(2) == 0 {
		t.PerTick = pick(1, min(4096, t.PerTick))
	}
	return t
}

// Claims, renewals and releases give the same rows as the rules in Go, also if numbers
// differ only beyond the precision of a double.
func TestRulesAreThoseOfLeaserule(t *testing.T) {
	t.Parallel()
	client := connect(t, dbtest.Redis().Start(t).Address)
	store := operated{redisstore.New(client), client}
	done := map[string]int{}
	for range 1500 {
		terms := anyTerms()
		dbtest.NoError(t, client.FlushAll(t.Context()).Err())
		before := dbtest.Must(store.Probe(t.Context(), lease.Query{Terms: terms, Max: 7, PreferWorker: -1}))(t)
		dbtest.Must(store.CreateNamespace(t.Context(), terms, 0))(t)
		dbtest.NoError(t, store.AddRows(t.Context(), terms, 7, 7))
		p := dbtest.Must(store.Probe(t.Context(), lease.Query{Terms: terms, Max: 7, PreferWorker: -1}))(t)
		limits := terms.At(p.Now)
		rows := dbtest.Must(store.Rows(t.Context(), terms, 7, 7))(t)
		least := terms.At(before.Now)
		if p.Fence < least.NewFence || p.Fence > limits.NewFence || rows[0].Bound < least.RaisedFence || rows[0].Bound > limits.RaisedFence {
			t.Fatalf("between %+v and %+v, the fence is %d and the bound %d, under %+v", least, limits, p.Fence, rows[0].Bound, terms)
		}
		row := lease.Row{
			Worker: 7, Token: []string{"", "A", "B"}[rand.IntN(3)], Label: "label",
			Revision: []int64{0, 1 << 53, 1<<53 + 1, math.MaxInt64 - 1}[rand.IntN(4)],
			Bound:    limits.Cap + int64(rand.IntN(5)) - 2,
			// An hour away, so that the time until the next call does not matter.
			Expires: p.Now + []int64{-3_600_000_000, 3_600_000_000, 1<<53 + 1, 1<<53 + 2}[rand.IntN(4)],
		}
		if rand.IntN(3) == 0 {
			row.Bound = []int64{0, 1 << 53, 1<<53 + 1, math.MaxInt64 - 1, math.MaxInt64}[rand.IntN(5)]
		}
		dbtest.NoError(t, store.Edit(t.Context(), terms, row))
		near := func(n int64) int64 { // the same number, or a neighbour
			if rand.IntN(4) > 0 || n == math.MaxInt64 || n == 0 {
				return n
			}
			return n + int64(rand.IntN(3)) - 1
		}
		seen := row
		seen.Bound, seen.Revision = near(row.Bound), near(row.Revision)
		wanted := near(max(row.Bound, limits.Cap))
		op := []string{"claim", "renew", "release"}[rand.IntN(3)]
		want, got := row, lease.Row{}
		var ok, wantOK bool
		var err error
		switch op {
		case "claim":
			c := lease.Claim{Terms: terms, Seen: seen, Fence: near(p.Fence), Token: "new", Label: "other", Wanted: wanted, Volatile: true}
			got, ok, err = store.Claim(t.Context(), c)
			want.Now = max(got.Now, p.Now)
			wantOK = leaserule.Claim(&want, leaserule.Namespace{Fingerprint: p.Fingerprint, Fence: p.Fence, Current: p.Current, Volatile: true}, c)
		case "renew":
			r := lease.Renewal{Terms: terms, Held: seen, Token: "new", Wanted: wanted, Volatile: true}
			got, ok, err = store.Renew(t.Context(), r)
			want.Now = max(got.Now, p.Now)
			wantOK = leaserule.Renew(&want, true, r)
		case "release":
			unused := near(row.Bound)
			ok, err = store.Release(t.Context(), terms, seen, unused)
			wantOK = leaserule.Release(&want, seen, unused)
		}
		dbtest.NoError(t, err)
		done[fmt.Sprint(op, " ", ok)]++
		stored := dbtest.Must(store.Rows(t.Context(), terms, 0, 7))(t)[0]
		if ok && op != "release" && got != want {
			t.Fatalf("%s of %+v under %+v answered %+v, want %+v", op, row, terms, got, want)
		}
		stored.Now, want.Now = 0, 0
		if ok != wantOK || stored != want {
			t.Fatalf("%s of %+v, seen as %+v, under %+v: %v and %+v, want %v and %+v", op, row, seen, terms, ok, stored, wantOK, want)
		}
	}
	t.Log(done)
	if len(done) != 6 {
		t.Errorf("not every operation was accepted and refused: %v", done)
	}
}
