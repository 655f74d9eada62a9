package idgen

import "sync/atomic"

var defaultPool atomic.Pointer[Pool]

// Default returns the process's pool, which the integrations use unless given a source of
// their own. It returns nil until [SetDefault] is called. Requesting ids from a nil pool
// fails with [ErrNoPool].
func Default() *Pool { return defaultPool.Load() }

// SetDefault makes p the process's pool. Call it in main, before creating any rows.
// SetDefault(nil) removes the pool.
func SetDefault(p *Pool) { defaultPool.Store(p) }
