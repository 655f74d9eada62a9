package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// shortLives measures processes that start, generate an id, and end right away.
var shortLives = herdStudy{
	title: "Short-lived processes: start, draw an id, end",
	note: "A process without Close ends as one that is killed: its connection breaks, and its worker number stays in use for TTL + MaxClockSkew (16 s). With\n" +
		"  1,024 worker numbers, 64 such processes a second are the most that can go on. A start fails if it has no id after 5 s.",
	columns: []string{"", "ends", "a second", "for", "starts", "failed", "p50", "p99", "bar", "verdict"},
	measure: func(h herd, s *herdServer, t *herdTable) (rows [][]string, err error) {
		for _, life := range h.short {
			cfg := h.cfg
			cfg.Namespace = s.namespace("short")
			first := new(keeper) // creates the namespace
			err := first.open(context.Background(), s, cfg)
			if err := closed(first, err); err != nil {
				return rows, err
			}
			took, failed := s.live(h, life, cfg.Namespace)
			n := len(took) + len(failed)
			ends, bars := "killed", []herdBar(nil)
			if life.closes {
				ends, bars = "Close", []herdBar{{"none failed", len(failed) == 0}}
			}
			line := fmt.Sprintf("%s, %s, %d a second", s.name, ends, life.rate)
			rows = append(rows, []string{s.name, ends, fmt.Sprint(life.rate), life.lasts.String(), fmt.Sprint(n), t.failures(line, failed),
				took.text(0.5, n, h.patience), took.text(0.99, n, h.patience), barTexts(bars),
				t.verdict("Short-lived, "+line, bars...)})
		}
		return rows, nil
	},
}

// closed closes k. Returns err if it's not nil, and otherwise the error from closing.
func closed(k *keeper, err error) error {
	if closing := k.close(); err == nil {
		err = closing
	}
	return err
}

// live starts processes at the rate that life asks for.
func (s *herdServer) live(h herd, life shortLived, namespace string) (took durations, failed []error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	cfg := h.cfg
	cfg.Namespace = namespace
	began := time.Now()
	for i := range int(life.lasts.Seconds() * float64(life.rate)) {
		time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(life.rate))))
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), h.patience)
			defer cancel()
			k := new(keeper)
			start := time.Now()
			err := k.open(ctx, s, cfg)
			d := time.Since(start)
			mu.Lock()
			if err != nil {
				failed = append(failed, err)
			} else {
				took = append(took, d)
			}
			mu.Unlock()
			if !life.closes && k.db != nil {
				k.db.Close() // simulates a kill: nothing that the keeper sends after this arrives
			}
			k.close()
		})
	}
	wg.Wait()
	return took, failed
}
