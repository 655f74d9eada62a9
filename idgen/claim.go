package idgen

import (
	"fmt"
	"sync"
)

// A claim is this process's hold on a worker number under a layout.
type claim struct {
	unused int64 // the first number that earlier pools did not use, where a new one goes on
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

// release gives the claim back; unused is the first number that was not used
// under it.
func (c *claim) release(unused int64) {
	claims.Lock()
	defer claims.Unlock()
	c.unused, c.held = unused, false
}
