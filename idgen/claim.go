package idgen

import (
	"fmt"
	"sync"
)

// A claim is locked while a pool in this process is using a worker number of a layout.
type claim struct {
	sync.Mutex
	unused int64 // the first number that no earlier pool has used; the next pool starts here
}

// claims has a *claim for each worker number and layout that a pool has used.
var claims sync.Map

func claimWorker(l Layout, worker int64) (*claim, error) {
	known, _ := claims.LoadOrStore(fmt.Sprint(worker, l), new(claim))
	c := known.(*claim)
	if !c.TryLock() {
		return nil, fmt.Errorf("%w (worker number %d)", ErrWorkerInUse, worker)
	}
	return c, nil
}

// release ends the claim. The caller's pool must not have used unused or any number
// above it, since the next pool starts there.
func (c *claim) release(unused int64) {
	c.unused = unused
	c.Unlock()
}
