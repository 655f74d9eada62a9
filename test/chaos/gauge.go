//go:build unix

package chaos

import (
	"crypto/sha256"
	"sync"
	"time"
)

// A gauge measures how much longer a program takes because other programs use the
// processors. Limits of time are scaled by it, since they are for a machine at rest.
type gauge struct {
	unit time.Duration // of one piece of work without interruption
	stop func()

	mu      sync.Mutex
	samples []sample
}

type sample struct {
	at     time.Time
	factor float64
}

// pieces is how many pieces of work a sample has. That takes longer than one turn of a
// process if others wait for the processor, and a piece does not.
const pieces = 20

// work takes about a millisecond.
func work() time.Duration {
	var sum [sha256.Size]byte
	start := time.Now()
	for range 5000 {
		sum = sha256.Sum256(sum[:])
	}
	return time.Since(start)
}

// startGauge measures five times a second.
func startGauge() *gauge {
	g := &gauge{unit: time.Hour}
	for range 200 {
		g.unit = min(g.unit, work())
	}
	ended := make(chan struct{})
	g.stop = sync.OnceFunc(func() { close(ended) })
	go func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(200 * time.Millisecond):
			}
			start := time.Now()
			for range pieces {
				work()
			}
			took := time.Since(start)
			g.mu.Lock()
			g.samples = append(g.samples, sample{time.Now(), float64(took) / float64(pieces*g.unit)})
			g.mu.Unlock()
		}
	}()
	return g
}

// since returns the mean factor after a time. It is 1 on a machine at rest, and if g is
// nil.
func (g *gauge) since(start time.Time) float64 {
	if g == nil {
		return 1
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	sum, n := 0.0, 0.0
	for i := len(g.samples) - 1; i >= 0 && g.samples[i].at.After(start); i-- {
		sum += g.samples[i].factor
		n++
	}
	return max(sum/max(n, 1), 1)
}
