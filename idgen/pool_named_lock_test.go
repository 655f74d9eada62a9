package idgen

import "testing"

// Once a name is known, Named and Next must not take any lock of the pool. The test
// holds all of them, which means that it hangs if a call takes one.
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
