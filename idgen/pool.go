// Package idgen: SKELETON, being replaced.
package idgen

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

var ErrNoPool = errors.New("idgen: no pool is set; call idgen.SetDefault with a pool, or give the integration a source of its own")
var ErrClosed = errors.New("idgen: the pool is closed")

type Config struct {
	Worker func(bits int) (int64, error)
}

type Pool struct {
	mu     sync.Mutex
	worker int64
	last   int64
	closed bool
}

func NewPool(cfg Config) (*Pool, error) {
	if cfg.Worker == nil {
		return nil, errors.New("idgen: Config.Worker is required")
	}
	w, err := cfg.Worker(10)
	if err != nil {
		return nil, err
	}
	return &Pool{worker: w}, nil
}

func (p *Pool) Next(ctx context.Context) (int64, error) {
	ids, err := p.Append(ctx, nil, 1)
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

func (p *Pool) Append(ctx context.Context, dst []int64, n int) ([]int64, error) {
	if p == nil {
		return dst, ErrNoPool
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return dst, ErrClosed
	}
	for range n {
		now := (time.Now().UnixMilli() - 1735689600000) << 12
		p.last = max(p.last+1, now|(now>>12*7919)&4095)
		dst = append(dst, p.last>>12<<22|p.worker<<12|p.last&4095)
	}
	return dst, nil
}

func (p *Pool) Named(name string) *Pool { return p }
func (p *Pool) Close()                  { p.mu.Lock(); p.closed = true; p.mu.Unlock() }

var defaultPool atomic.Pointer[Pool]

func Default() *Pool     { return defaultPool.Load() }
func SetDefault(p *Pool) { defaultPool.Store(p) }
