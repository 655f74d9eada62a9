package idgen

import "testing"

// To draw by a name that is known takes none of the pool's locks, all of which
// are held here. A test that hangs has found one that it takes.
func TestNamedTakesNoLock(t *testing.T) {
	pool := unorderedPool(t, DefaultLayout())
	g := pool.Named("orders")
	pool.mu.Lock()
	defer pool.mu.Unlock()
	pool.tenures.mu.Lock()
	defer pool.tenures.mu.Unlock()
	for range 1000 {
		if pool.Named("orders") != g {
			t.Fatal("another generator")
		}
		if _, err := pool.Named("orders").Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.Named("orders").Unordered().Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
