package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
)

// waiters measures the cost of processes that are waiting for a worker number.
var waiters = herdStudy{
	title: "Waiting: all worker numbers are in use",
	note: "The holders lease their numbers for an hour, so that they send nothing. The CPU is that of the server's processes in per cent of a core,\n" +
		"  before and while others wait. Then holders give numbers back one after the other, and a process that waited has each as soon as it has an id.",
	columns: []string{"", "numbers", "waiters", "CPU without", "CPU with", "difference", "statements per waiter and second",
		"freed number taken within, p50", "longest", "bars", "verdict"},
	measure: func(h herd, s *herdServer, t *herdTable) (rows [][]string, err error) {
		lowest, highest := int64(0), int64(h.workers-1)
		cfg := h.cfg
		cfg.Namespace, cfg.MinWorker, cfg.MaxWorker = s.namespace("full"), lowest, highest
		hour := cfg
		hour.Window, hour.TTL = time.Hour, time.Hour
		db, err := sql.Open(s.Driver, s.DSN)
		if err != nil {
			return nil, err
		}
		defer db.Close()
		db.SetMaxOpenConns(16)
		db.SetMaxIdleConns(16)
		// The first round only adds the rows. If it were done with the hour-long
		// leases, the new rows would have bounds an hour ahead.
		holders, err := s.hold(h, db, cfg)
		if closing := closePools(holders); err == nil {
			err = closing
		}
		if err == nil {
			holders, err = s.hold(h, db, hour)
			defer func() { closePools(holders) }()
		}
		if err != nil {
			return nil, err
		}

		pid, noPID := serverPID(s.listen)
		without, err := watchCPU(pid, noPID, h.watch)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithCancel(context.Background())
		keepers := make([]*keeper, h.waiters)
		taken := make(chan error, h.waiters)
		var lost atomic.Int64
		var wg sync.WaitGroup
		for i := range keepers {
			keepers[i] = &keeper{lost: &lost}
			wg.Go(func() { taken <- keepers[i].open(ctx, s, cfg) })
		}
		defer func() { cancel(); wg.Wait(); s.closeAll(keepers) }()
		time.Sleep(h.stay)
		before := tallies(keepers)
		with, err := watchCPU(pid, noPID, h.watch)
		if err != nil {
			return nil, err
		}
		statements := tallies(keepers).minus(before).statements
		select {
		case err := <-taken:
			return nil, fmt.Errorf("a process did not wait on a full namespace: %v", err)
		default:
		}

		var took durations
		for i := range h.freed {
			began := time.Now()
			if err := holders[i].Close(ctx); err != nil {
				return nil, err
			}
			select {
			case err := <-taken:
				if err != nil {
					return nil, err
				}
				took = append(took, time.Since(began))
			case <-time.After(h.limit):
			}
		}
		bars := []herdBar{{"taken within 2s", len(took) == h.freed && took.within(1, h.freed) <= 2*time.Second}}
		cpu := []string{"–", "–", "–"}
		if noPID == nil {
			cpu = []string{percent(without), percent(with), percent(with - without)}
			bars = append(bars, herdBar{"CPU < 2 %", with-without < 0.02})
		}
		row := append([]string{s.name, fmt.Sprint(h.workers), fmt.Sprint(h.waiters)}, cpu...)
		return [][]string{append(row, fmt.Sprintf("%.2f", float64(statements)/float64(h.waiters)/h.watch.Seconds()),
			took.text(0.5, h.freed, h.limit), took.text(1, h.freed, h.limit),
			barTexts(bars), t.verdict("Waiting, "+s.name, bars...))}, nil
	},
}

// hold opens enough pools to lease all worker numbers. They share a single *sql.DB.
func (s *herdServer) hold(h herd, db *sql.DB, cfg snowkey.Config) (holders []*idgen.Pool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*h.limit)
	defer cancel()
	store := storeOf(s.DB, db)
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, 16)
	for range h.workers {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			k := new(keeper)
			failure := k.openOn(ctx, store, cfg)
			mu.Lock()
			defer mu.Unlock()
			if failure != nil {
				err = fmt.Errorf("a holder cannot open: %w", failure)
			}
			if k.pool != nil {
				holders = append(holders, k.pool)
			}
		})
	}
	wg.Wait()
	return holders, err
}

func closePools(pools []*idgen.Pool) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, p := range pools {
		err = errors.Join(err, p.Close(ctx))
	}
	return err
}

func tallies(keepers []*keeper) (sum usage) {
	for _, k := range keepers {
		sum = sum.plus(k.tally.now())
	}
	return sum
}

// watchCPU returns how many cores the server's processes keep busy over d.
func watchCPU(pid int, noPID error, d time.Duration) (cores float64, err error) {
	if noPID != nil {
		return 0, nil
	}
	began := time.Now()
	before, err := cpuOf(pid)
	if err != nil {
		return 0, err
	}
	time.Sleep(d)
	after, err := cpuOf(pid)
	return float64(after-before) / float64(time.Since(began)), err
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
