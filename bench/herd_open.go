package main

import (
	"context"
	"fmt"
	"time"
)

// opening measures a process that starts while no others do.
var opening = herdStudy{
	title: "Opening: one process calls Open on a server at rest",
	note: "The times are from Open to the first id, with the connection. A new namespace has 5 processes at most, each in one of its own.\n" +
		"  Commits are COMMIT and writes outside a transaction. Closing is not included.",
	columns: []string{"", "namespace", "processes", "p50", "p99", "statements", "prepares", "round trips", "commits", "bar", "verdict"},
	files:   true,
	measure: func(h herd, s *herdServer, t *herdTable) (rows [][]string, err error) {
		cfg := h.cfg
		cfg.Namespace = s.namespace("open")
		if _, _, err := openAlone(h, s, 1, func() string { return cfg.Namespace }); err != nil { // creates the tables and rows
			return nil, err
		}
		for _, kind := range []string{"rows exist", "new"} {
			n, namespace := h.opens, func() string { return cfg.Namespace }
			if kind == "new" {
				n, namespace = min(n, 5), func() string { return s.namespace("open") }
			}
			took, sum, err := openAlone(h, s, n, namespace)
			if err != nil {
				return rows, err
			}
			var bars []herdBar
			if kind == "rows exist" && s.path == "" {
				bars = []herdBar{{"≤ 4 statements", sum.statements <= 4*int64(n)}}
			}
			row := []string{s.name, kind, fmt.Sprint(n), took.text(0.5, n, h.limit), took.text(0.99, n, h.limit)}
			row = append(row, s.cells(n, sum.statements, sum.prepares, sum.trips, sum.commits)...)
			rows = append(rows, append(row, barTexts(bars), t.verdict("Opening, "+s.name+", "+kind, bars...)))
		}
		return rows, nil
	},
}

// openAlone opens n keepers one after another.
func openAlone(h herd, s *herdServer, n int, namespace func() string) (took durations, sum usage, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*h.limit)
	defer cancel()
	for range n {
		cfg := h.cfg
		cfg.Namespace = namespace()
		k := new(keeper)
		began := time.Now()
		if err := k.open(ctx, s, cfg); err != nil {
			return nil, sum, err
		}
		took = append(took, time.Since(began))
		sum = sum.plus(k.tally.now())
		if err := k.close(); err != nil {
			return nil, sum, err
		}
	}
	return took, sum, nil
}

// resting measures what processes cost the database while they aren't generating ids.
var resting = herdStudy{
	title:   "At rest: what one process costs the database in a minute",
	columns: []string{"", "Window", "statements", "round trips", "commits"},
	files:   true,
	measure: func(h herd, s *herdServer, _ *herdTable) ([][]string, error) {
		if s.path != "" {
			return nil, nil
		}
		const n = 4
		cfg := h.cfg
		cfg.Namespace = s.namespace("rest")
		keepers, err := s.openAll(n, h.limit, cfg, nil)
		if err != nil {
			return nil, err
		}
		defer s.closeAll(keepers)
		before := tallies(keepers)
		time.Sleep(h.rest)
		used := tallies(keepers).minus(before)
		minute := func(count int64) string {
			return fmt.Sprintf("%.1f", float64(count)/n*float64(time.Minute)/float64(h.rest))
		}
		window := cfg.Window
		if window == 0 {
			window = 10 * time.Second // the default
		}
		return [][]string{{s.name, window.String(), minute(used.statements), minute(used.trips), minute(used.commits)}}, nil
	},
}
