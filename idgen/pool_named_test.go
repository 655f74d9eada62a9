package idgen_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/raced"
)

// Goroutines take ids of ten thousand names, half of them without order. Since the
// clock stands still, each name must get exactly the same ids as in a pool with a
// single name.
func TestTenThousandNames(t *testing.T) {
	const goroutines, rounds = 8, 2
	names := 10_000
	if raced.Enabled {
		names = 1000
	}
	clock := holdClock(epoch.AddDate(1, 0, 0))
	pool := newPool(t, idgen.Config{Clock: clock.Now, NoSpread: true})
	codes := make([]string, names)
	for i := range codes {
		codes[i] = fmt.Sprint("tenant-", i)
	}
	first := mustNext(t, pool.Named("somebody else"))
	const each = goroutines * rounds
	drawn := make([][each]atomic.Int32, names) // counts how often a call returned the n-th id of a name
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			for round := range rounds {
				for j := range names {
					name := (3*j + i*names/goroutines) % names // let each goroutine start at another name
					src := idgen.Source(pool.Named(codes[name]))
					if (i+round)%2 == 0 {
						src = pool.Named(codes[name]).Unordered()
					}
					id, err := src.Next(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					if place := id - first; place < 0 || place >= each || drawn[name][place].Add(1) > 1 {
						t.Errorf("%s got id %d twice, or not one of its next %d from %d", codes[name], id, each, first)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestNamesTakeLittleMemory(t *testing.T) {
	raced.Skip(t)
	const names = 10_000
	pool := newPool(t, idgen.Config{})
	codes := make([]string, names)
	for i := range codes {
		codes[i] = fmt.Sprint("tenant-", i)
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for _, code := range codes {
		mustNext(t, pool.Named(code))
	}
	named := heap()
	for _, code := range codes {
		mustNext(t, pool.Named(code).Unordered())
	}
	unordered := heap()
	runtime.KeepAlive(codes)
	a, b := (named-before)/names, (unordered-before)/names
	t.Logf("a name takes %d bytes, and %d with an Unordered", a, b)
	if a > 700 || b > 2400 { // twice the documented size
		t.Error("more than twice of what is documented")
	}
	if n := testing.AllocsPerRun(1000, func() { mustNext(t, pool.Named(codes[4711])) }); n != 0 {
		t.Errorf("drawing by name allocates %v times", n)
	}
}

func TestMaxNames(t *testing.T) {
	pool := newPool(t, idgen.Config{MaxNames: 100})
	text := strings.Repeat("x", 100)
	for i := range 100 {
		mustNext(t, pool.Named(text[:i+1]))
	}
	mustNext(t, pool)
	mustNext(t, pool.Named(text[:1])) // known names still work
	more := pool.Named("one more")
	_, err1 := more.Next(t.Context())
	_, err2 := more.NextN(t.Context(), 3)
	_, err3 := more.Unordered().Next(t.Context())
	for _, err := range []error{err1, err2, err3} {
		if !errors.Is(err, idgen.ErrTooManyNames) || !strings.Contains(err.Error(), `"one more"`) || !strings.Contains(err.Error(), "100") {
			t.Errorf("the 101st name: %v", err)
		}
	}
	if pool.Health().State != idgen.Serving {
		t.Error("a name too many makes the pool ill")
	}
	for range 3 {
		if pool.Named("one more") == pool.Named("yet another") {
			t.Fatal("two names share a generator")
		}
	}
}

func TestNamed(t *testing.T) {
	clock := holdClock(epoch.AddDate(1, 0, 0))
	pool := newPool(t, idgen.Config{Clock: clock.Now, MaxAhead: idgen.NoLimit})
	orders, users := pool.Named("orders"), pool.Named("users")
	if orders == users || orders != pool.Named("orders") {
		t.Fatal("a name is not one generator")
	}
	// Names are independent, so the ids of one shouldn't use up the ids of another.
	before := mustNext(t, users)
	must(orders.NextN(t.Context(), 1_000_000))(t)
	if after := mustNext(t, users); after != before+1 {
		t.Errorf("users went from %d to %d while orders drew", before, after)
	}
	if h := orders.Health(); h.Behind < 200*time.Millisecond {
		t.Errorf("orders is behind by %v", h.Behind)
	}
	if pool.Health().Behind != orders.Health().Behind {
		t.Error("the pool does not report the generator that is worst off")
	}
	var wg sync.WaitGroup
	got := make([]*idgen.Generator, 64)
	for i := range got {
		wg.Go(func() { got[i] = pool.Named(fmt.Sprint("race", i%4)) })
	}
	wg.Wait()
	for i, g := range got {
		if g != got[i%4] {
			t.Fatal("a race made two generators of one name")
		}
	}
}
