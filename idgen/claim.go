package idgen

import (
	"fmt"
	"sync"
)

// A claim records whether a pool in this process is using a worker number of a layout.
type claim struct {
	unused int64 // the first number that no earlier pool has used; the next pool starts here
	held   bool
}

type claimKey struct {
	layout string
	worker int64
}

var claims = struct {
	sync.Mutex
	byKey map[claimKey]*claim
}{byKey: map[claimKey]*claim{}}

func claimWorker(l Layout, worker int64) (*claim, error) {
	claims.Lock()
	defer claims.Unlock()
	key := claimKey{l.String(), worker}
	c := claims.byKey[key]
	if c == nil {
		c = &claim{}
		claims.byKey[key] = c
	}
	if c.held {
		return nil, fmt.Errorf("%w (worker number %d)", ErrWorkerInUse, worker)
	}
	c.held = true
	return c, nil
}

// release ends the claim. The caller's pool must not have used unused or any number
// above it, since the next pool starts there.
func (c *claim) release(unused int64) {
	claims.Lock()
	defer claims.Unlock()
	c.unused, c.held = unused, false
}
