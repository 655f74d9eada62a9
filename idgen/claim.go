package idgen

import "sync"

// A claim is this process's hold on a worker number under a layout.
type claim struct {
	key  claimKey
	last int64 // what earlier pools of the claim handed out, so that a new one goes on behind
	held bool
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
		c = &claim{key: key}
		claims.byKey[key] = c
	}
	if c.held {
		return nil, &WorkerInUseError{Worker: worker}
	}
	c.held = true
	return c, nil
}

// release gives the claim back; last is the largest number handed out under it.
func (c *claim) release(last int64) {
	claims.Lock()
	defer claims.Unlock()
	c.last, c.held = last, false
}
