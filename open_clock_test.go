package snowkey_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

// A store whose clock knows whole seconds only is up to one behind. For an hour
// ids flow all the same, in a process that lives and in others that come and go.
func TestStoreOfWholeSeconds(t *testing.T) {
	for _, cfg := range []snowkey.Config{
		{MaxWorker: 1},
		{MaxWorker: 1, Window: time.Second},
		{MaxWorker: 1, MaxClockSkew: 2 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := &leasetest.Memory{Clock: func() time.Time { return time.Now().Truncate(time.Second) }}
			seen := make(map[int64]bool)
			draw := func(pool *idgen.Pool, last int64) int64 {
				t.Helper()
				id := mustNext(t, pool)
				if seen[id] || id <= last {
					t.Fatalf("id %d after %d, seen before: %v", id, last, seen[id])
				}
				seen[id] = true
				return id
			}
			time.Sleep(300 * time.Millisecond)
			lives := open(t, store, cfg)
			last := int64(0)
			for began := time.Now(); time.Since(began) < time.Hour; {
				opened := time.Now()
				comes, visit := open(t, store, cfg), int64(0)
				if d := time.Since(opened); d > 5*time.Second {
					t.Fatalf("a lease took %v", d)
				}
				for range 100 {
					asked := time.Now()
					last, visit = draw(lives, last), draw(comes, visit)
					if d := time.Since(asked); d > time.Second {
						t.Fatalf("two ids took %v", d)
					}
					time.Sleep(97 * time.Millisecond)
				}
				if err := comes.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if at := layout(t).Decode(last).Time; time.Since(at).Abs() > time.Second {
				t.Errorf("after an hour an id is of %v; now is %v", at, time.Now())
			}
			if n := store.Calls("Claim"); len(seen) < 50_000 || n < 300 {
				t.Errorf("%d ids under %d leases", len(seen), n)
			}
		})
	}
}
