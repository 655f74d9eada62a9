package idgen_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/raced"
)

// Goroutines take ids of ten thousand names. Since the clock stands still, each name must
// get exactly the same ids as in a pool with a single name.
func TestTenThousandNames(t *testing.T) {
	const goroutines, rounds = 8, 2
	names := 10_000
	if raced.Enabled {
		names = 1000
	}
	pool := newPool(t, idgen.Config{Clock: holdClock(epoch.AddDate(1, 0, 0)).Now, NoSpread: true})
	codes := tenants(names)
	first := mustNext(t, pool.Named("somebody else"))
	const each = goroutines * rounds
	drawn := make([][each]atomic.Int32, names) // counts how often a call returned the n-th id of a name
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			for j := range rounds * names {
				name := (3*j + i*names/goroutines) % names // let each goroutine start at another name
				id, err := pool.Named(codes[name]).Next(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if place := id - first; place < 0 || place >= each || drawn[name][place].Add(1) > 1 {
					t.Errorf("%s got id %d twice, or not one of its next %d from %d", codes[name], id, each, first)
					return
				}
			}
		})
	}
	wg.Wait()
}

func tenants(n int) []string {
	codes := make([]string, n)
	for i := range codes {
		codes[i] = fmt.Sprint("tenant-", i)
	}
	return codes
}

func TestNamesTakeLittleMemory(t *testing.T) {
	raced.Skip(t)
	const names = 10_000
	pool := newPool(t, idgen.Config{})
	codes := tenants(names)
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
	size := (heap() - before) / names
	runtime.KeepAlive(codes)
	t.Logf("a name takes %d bytes", size)
	if size > 700 {
		t.Error("more than twice of what is documented")
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
	refused(t, idgen.ErrTooManyNames, more)
	if _, err := more.Next(t.Context()); !strings.Contains(err.Error(), `"one more"`) || !strings.Contains(err.Error(), "100") {
		t.Errorf("the 101st name: %v", err)
	}
	if pool.Health().State != idgen.Serving {
		t.Error("a name too many makes the pool ill")
	}
	if more == pool.Named("yet another") {
		t.Error("two names share a generator")
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
	errtest.Must(orders.NextN(t.Context(), 1_000_000))(t)
	if after := mustNext(t, users); after != before+1 {
		t.Errorf("users went from %d to %d while orders drew", before, after)
	}
	if h := orders.Health(); h.Behind < 200*time.Millisecond {
		t.Errorf("orders is behind by %v", h.Behind)
	}
	if pool.Health().Behind != orders.Health().Behind {
		t.Error("the pool does not report the generator that is worst off")
	}
}
