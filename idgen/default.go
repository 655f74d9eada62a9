package idgen

import "sync/atomic"

var defaultPool atomic.Pointer[Pool]

// Default returns the pool of the process, which integrations use unless they are given
// a source of their own. It returns nil until [SetDefault] is called, and requests for
// ids from a nil pool fail with [ErrNoPool].
func Default() *Pool { return defaultPool.Load() }

// SetDefault makes p the pool of the process. It should be called in main, before the
// first row is created. SetDefault(nil) removes the pool.
func SetDefault(p *Pool) { defaultPool.Store(p) }
