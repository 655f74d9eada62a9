//go:build unix

package chaos

import (
	"runtime"
	"testing"
	"time"
)

// With four busy loops for each processor, everything takes longer, also for the gauge.
func TestGauge(t *testing.T) {
	g := startGauge()
	defer g.stop()
	end := make(chan struct{})
	defer close(end)
	start := time.Now()
	for range 4 * runtime.GOMAXPROCS(0) {
		go func() {
			for {
				select {
				case <-end:
					return
				default:
					work()
				}
			}
		}()
	}
	var factor float64
	for factor <= 1 && time.Since(start) < time.Minute { // beside other programs, a sample may take seconds
		time.Sleep(2 * time.Second)
		factor = g.since(start)
	}
	t.Logf("factor %.1f", factor)
	if factor < 1.5 {
		t.Errorf("the factor is %v", factor)
	}
	if f := g.since(time.Now()); f != 1 {
		t.Errorf("without a sample the factor is %v", f)
	}
}
