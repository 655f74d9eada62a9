package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// connecting measures the lowest possible time that a start can take.
var connecting = herdStudy{
	title: "Connecting: many clients connect at once and run SELECT 1",
	note: "This is the least that a start can take. The CPU time is that of the server and of the client, which share the cores.\n" +
		"  Clients of the private Postgres have sslmode=disable. Without, pgx connects twice to a server that has no TLS.",
	columns: []string{"", "clients", "failed", "p50", "p99", "longest", "CPU, each"},
	measure: func(h herd, s *herdServer, t *herdTable) (rows [][]string, err error) {
		for _, n := range h.starts {
			keepers := make([]*keeper, n)
			used := s.cpuUsed()
			took, failed := s.atOnce(h, keepers, func(ctx context.Context, k *keeper) error {
				if _, err := k.store(s); err != nil {
					return err
				}
				var one int
				return k.db.QueryRowContext(ctx, "SELECT 1").Scan(&one)
			})
			cpu := used(n)
			s.closeAll(keepers)
			rows = append(rows, []string{s.name, fmt.Sprint(n), t.failures(fmt.Sprintf("%s, %d clients", s.name, n), failed),
				took.text(0.5, n, h.limit), took.text(0.99, n, h.limit), took.text(1, n, h.limit), cpu})
		}
		return rows, nil
	},
}

// atOnce creates the keepers and calls f for all of them at the same time. It returns
// how long the successful calls took, and the errors of all others.
func (s *herdServer) atOnce(h herd, keepers []*keeper, f func(context.Context, *keeper) error) (took durations, failed []error) {
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		start = make(chan struct{})
	)
	ctx, cancel := context.WithTimeout(context.Background(), h.limit)
	defer cancel()
	for i := range keepers {
		if keepers[i] == nil {
			keepers[i] = new(keeper)
		}
		wg.Go(func() {
			<-start
			began := time.Now()
			err := f(ctx, keepers[i])
			d := time.Since(began)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, err)
			} else {
				took = append(took, d)
			}
		})
	}
	close(start)
	wg.Wait()
	return took, failed
}

// starting measures a deployment whose processes all start at once.
var starting = herdStudy{
	title: "Starting: many processes call Open at once",
	note: "The times are from Open to the first id, with the connection that each process opens. A new namespace issues its first id 1 s\n" +
		"  (MaxClockSkew) after it was created. The CPU time is that of the server and of the clients, which share the\n" +
		"  cores. Statements, prepares and round trips are those from Open to the first id, for each process that has one. BEGIN, COMMIT and statements\n" +
		"  that failed are statements. Prepares are those of the driver. Round trips are counted on the network, without those of connecting. Leases\n" +
		"  lost are those of processes that ran before, and those of processes that started.",
	columns: []string{"", "namespace", "processes", "without id", "p50", "p99", "longest", "CPU, each", "statements", "failed", "prepares", "round trips", "connects",
		"leases lost", "bars", "verdict"},
	files: true,
	measure: func(h herd, s *herdServer, t *herdTable) (rows [][]string, err error) {
		for _, n := range h.starts {
			if s.listen == "" && n > 256 {
				continue
			}
			namespace := s.namespace("start")
			for _, isNew := range []bool{true, false} {
				row, err := startAll(h, s, t, n, namespace, isNew)
				if err != nil {
					return rows, err
				}
				rows = append(rows, row)
			}
		}
		return rows, nil
	},
}

func startAll(h herd, s *herdServer, t *herdTable, n int, namespace string, isNew bool) (row []string, err error) {
	var lostBefore, lostNow atomic.Int64 // of the processes already running, and of those that start
	cfg := h.cfg
	if cfg.Namespace = namespace; !isNew {
		// If the previous start was too slow, some rows may still be missing.
		keepers, err := s.openAll(n, 2*h.limit, cfg, nil)
		if err != nil {
			return nil, err
		}
		s.closeAll(keepers)
	}
	cfg.Namespace = s.namespace("live")
	live, err := s.openAll(h.live, h.limit, cfg, &lostBefore)
	if err != nil {
		return nil, err
	}
	cfg.Namespace = namespace
	keepers := make([]*keeper, n)
	for i := range keepers {
		keepers[i] = &keeper{lost: &lostNow}
	}
	var mu sync.Mutex
	var sum usage
	used := s.cpuUsed()
	took, failed := s.atOnce(h, keepers, func(ctx context.Context, k *keeper) error {
		err := k.open(ctx, s, cfg)
		c := k.tally.now()
		mu.Lock()
		defer mu.Unlock()
		sum = sum.plus(c)
		return err
	})
	cpu := used(n)
	time.Sleep(h.stay)
	before, now := lostBefore.Load(), lostNow.Load()
	s.closeAll(keepers)
	s.busy = s.busy || len(failed) > 0
	if err := s.settle(); err != nil {
		return nil, err
	}
	s.closeAll(live)

	bars := []herdBar{{"no lease lost", before+now == 0}}
	if s.path == "" {
		bars = append(bars, herdBar{"≤ 6 statements", len(took) > 0 && sum.statements <= 6*int64(len(took))})
	}
	if n >= 1024 {
		limit := 1500 * time.Millisecond
		if isNew && s.Dialect == "mysql" && !s.MariaDB {
			limit = 6 * time.Second
		} else if isNew {
			limit = 3 * time.Second
		}
		bars = append(bars, herdBar{"p99 ≤ " + limit.String(), took.met(n, limit)})
	}
	kind := "rows exist"
	if isNew {
		kind = "new"
	}
	line := fmt.Sprintf("%s, %s, %d processes", s.name, kind, n)
	row = []string{s.name, kind, fmt.Sprint(n), t.failures(line, failed),
		took.text(0.5, n, h.limit), took.text(0.99, n, h.limit), took.text(1, n, h.limit), cpu}
	row = append(row, s.cells(len(took), sum.statements, sum.failed, sum.prepares, sum.trips, sum.connects)...)
	return append(row, fmt.Sprintf("%d + %d", before, now), barTexts(bars),
		t.verdict("Starting, "+line, bars...)), nil
}

// cells prints the counts divided by n, or dashes if there are none.
func (s *herdServer) cells(n int, list ...int64) (cells []string) {
	for _, count := range list {
		if s.path != "" {
			cells = append(cells, "–")
		} else {
			cells = append(cells, each(count, n))
		}
	}
	return cells
}
