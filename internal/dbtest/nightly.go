package dbtest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
)

// Points returns a function that reports whether a test tries point n of many, such as
// the n-th statement at which a program can be killed. With [Nightly] it tries each
// point, otherwise every fifth. Where it begins is random, and is in the log:
// SNOWKEY_TEST_SEED=3 repeats it.
func Points(t TB) func(n int) bool {
	t.Helper()
	if Nightly {
		return func(int) bool { return true }
	}
	t.Logf("every fifth point, SNOWKEY_TEST_SEED=%d", seed())
	return func(n int) bool { return n%5 == seed()%5 }
}

// seed is the same for all tests of a run.
var seed = sync.OnceValue(func() int {
	if n, err := strconv.Atoi(os.Getenv("SNOWKEY_TEST_SEED")); err == nil && n >= 0 {
		return n
	}
	return rand.IntN(1000)
})
