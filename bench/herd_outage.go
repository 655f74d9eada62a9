package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// returning measures how soon after an outage processes can issue ids again.
var returning = herdStudy{
	title: "After an outage: processes that run all need a new grant",
	note: "The server is killed with kill -9 and started after the outage. One that the environment names is cut off by a proxy instead, which\n" +
		"  refuses connections during the outage. The times are from the server's return, which is the first connection that succeeds, to the first\n" +
		"  id of each process that needed a grant after the outage.",
	columns: []string{"", "processes", "outage", "without id", "p50", "p99", "longest", "leases lost", "bar", "verdict"},
	measure: func(h herd, s *herdServer, t *herdTable) ([][]string, error) {
		cut, err := s.outage()
		if err != nil {
			return nil, err
		}
		defer cut.close()
		var lost atomic.Int64
		cfg := h.cfg
		cfg.Namespace = s.namespace("outage")
		keepers, err := cut.server.openAll(h.running, 4*h.limit, cfg, &lost)
		if err != nil {
			return nil, err
		}
		defer func() { s.closeAll(keepers); s.busy = true }()
		// The first ids of a new namespace have a time in the future, so wait until
		// that time has come.
		time.Sleep(h.warm)
		lost.Store(0)

		// No bound can be later than this.
		ahead := cfg.Window + cfg.MaxClockSkew
		if cfg.Window == 0 {
			ahead = 11 * time.Second // the defaults
		}
		granted := time.Now().Add(ahead)
		if err := cut.begin(); err != nil {
			return nil, err
		}
		granted = later(granted, time.Now().Add(ahead))
		var returned atomic.Pointer[time.Time]
		seen := func() { now := time.Now(); returned.CompareAndSwap(nil, &now) }
		for _, k := range keepers {
			k.connected.Store(&seen)
		}
		var (
			mu     sync.Mutex
			wg     sync.WaitGroup
			ends   []time.Time
			failed []error
		)
		time.Sleep(h.outage)
		ctx, cancel := context.WithTimeout(context.Background(), h.limit)
		defer cancel()
		for _, k := range keepers {
			wg.Go(func() {
				err := k.drawAfter(ctx, granted)
				now := time.Now()
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					failed = append(failed, err)
				} else {
					ends = append(ends, now)
				}
			})
		}
		if err := cut.end(); err != nil {
			return nil, err
		}
		seen() // in case no process has called it
		wg.Wait()
		var took durations
		for _, end := range ends {
			took = append(took, end.Sub(*returned.Load()))
		}
		n := h.running
		var bars []herdBar
		if n >= 1000 {
			bars = []herdBar{{"p99 ≤ 3s", took.met(n, 3*time.Second)}}
		}
		return [][]string{{s.name, fmt.Sprint(n), h.outage.String(), t.failures(s.name, failed),
			took.text(0.5, n, h.limit), took.text(0.99, n, h.limit), took.text(1, n, h.limit),
			fmt.Sprint(lost.Load()), barTexts(bars), t.verdict("After an outage, "+s.name, bars...)}}, nil
	},
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// drawAfter generates ids until it gets one whose time is after granted.
func (k *keeper) drawAfter(ctx context.Context, granted time.Time) error {
	for {
		id, err := k.pool.Next(ctx)
		if err != nil {
			return err
		}
		if k.pool.Layout().Decode(id).Time.After(granted) {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// A cut starts and ends an outage.
type cut struct {
	server     *herdServer // the server that processes should connect to
	begin, end func() error
	close      func()
}

// outage prepares an outage, which is a kill if we started the server ourselves, and
// otherwise a proxy that refuses connections.
func (s *herdServer) outage() (c cut, err error) {
	if s.own != nil {
		return cut{s, s.own.Kill, s.own.Start, func() {}}, nil
	}
	defer refused(s.Dialect, &err)
	here := &servers{dir: s.owner.dir}
	var proxy *dbtest.Proxy
	through := *s
	through.DB, proxy = s.DB.Through(here)
	return cut{
		server: &through,
		begin:  func() error { proxy.Cut(); return nil },
		end:    func() error { proxy.Lead(s.DB); return nil },
		close:  func() { here.close() },
	}, nil
}
