package idgen

import "sync/atomic"

var defaultPool atomic.Pointer[Pool]

// Default returns the process's pool, which integrations use when they are not
// given a source. It is nil, and so answers with [ErrNoPool], until
// [SetDefault] is called: there is no made-up worker number to fall back to.
func Default() *Pool { return defaultPool.Load() }

// SetDefault makes p the process's pool. Call it in main, before the first row
// is created; nil takes the pool away again.
func SetDefault(p *Pool) { defaultPool.Store(p) }
