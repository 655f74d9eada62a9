package main

import (
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"sync"
	"time"
)

// latencies measures how long single calls take when every goroutine calls as often as
// it can, and how close that comes to the layout's maximum rate.
func latencies(all []source) study {
	var limited []source
	for _, s := range all {
		if s.limit > 0 {
			limited = append(limited, s)
		}
	}
	return study{title: "At the ceiling, call by call", measure: func(d time.Duration) (found findings, err error) {
		sheet := sheet{
			title: "At the ceiling, call by call",
			note: "As soon as a call returns, its goroutine calls again. p99 is the time within which 99 % of the calls return. Keep in mind that we have to read the clock to time a call, and that costs something too. " +
				"The CPU is the total of the process. See “Waiting at the ceiling” for how much of it Snowkey spends on waiting.",
			columns: []string{"", "goroutines", "rate / rate of its layout", "p50", "p99", "p99.9", "longest", "CPU, in cores"},
		}
		for _, goroutines := range crowds(64) {
			results := make([]*crowded, len(limited))
			for i := range results {
				results[i] = new(crowded)
			}
			more := lasting(2 * d * time.Duration(len(limited)))
			for round := 0; more(round); round++ {
				for _, i := range order(len(limited), round) {
					if err := results[i].measure(limited[i], goroutines, min(d, 500*time.Millisecond)); err != nil {
						return found, fmt.Errorf("%s: %w", limited[i].name, err)
					}
				}
			}
			for i, r := range results {
				sheet.rows = append(sheet.rows, []string{
					limited[i].name, fmt.Sprint(goroutines), spreadOf(r.shares).format("%.1f", 100) + " %",
					nanos(r.calls.within(0.5)), nanos(r.calls.within(0.99)), nanos(r.calls.within(0.999)), nanos(float64(r.calls.longest)),
					fmt.Sprintf("%.2f", spreadOf(r.cores).median),
				})
			}
			found.behind = append(found.behind, slower(limited, results, goroutines)...)
		}
		found.sheets = append(found.sheets, sheet)
		return found, nil
	}}
}

// slower lists where a peer is faster than we are, for peers with an equally large
// layout.
func slower(sources []source, results []*crowded, goroutines int) (list []string) {
	for i, ours := range sources {
		if !ours.ours {
			continue
		}
		for j, peer := range sources {
			if peer.ours || peer.limit != ours.limit {
				continue
			}
			for _, share := range []float64{0.5, 0.99, 0.999, 1} {
				mine, its := results[i].calls.within(share), results[j].calls.within(share)
				if mine > 1.25*its { // leave some room, because some clocks tick in tens of nanoseconds
					list = append(list, because(fmt.Sprintf("at the ceiling, %s: %g %% of calls within %s, with %s %s",
						crowd(goroutines), 100*share, nanos(mine), peer.name, nanos(its)),
						"Snowkey sleeps until the next tick, and bwmarrin/snowflake keeps a core busy (“CPU, in cores”). While no goroutine runs, Go's runtime sleeps for whole milliseconds. The first calls after a sleep find other data "+
							"in the caches (“An id after a pause”), and the longest one is late because the system was late."))
				}
			}
		}
	}
	return list
}

// crowds returns the numbers of goroutines to measure: one, the number of cores, and
// last.
func crowds(last int) []int {
	list := []int{1}
	if n := runtime.GOMAXPROCS(0); n > 1 && n < last {
		list = append(list, n)
	}
	return append(list, last)
}

// crowded holds the measurements of goroutines that request ids from a source without
// ever pausing.
type crowded struct {
	calls  histogram
	shares []float64 // share of the layout's rate, for each turn
	cores  []float64 // number of cores that were busy, for each turn
}

// measure lets the given number of goroutines request ids for d.
func (c *crowded) measure(s source, goroutines int, d time.Duration) error {
	if err := s.exhaust(); err != nil {
		return err
	}
	var (
		wg    sync.WaitGroup
		own   = make([]histogram, goroutines)
		errs  = make([]error, goroutines)
		cpu   = cpuTime()
		start = time.Now()
	)
	for i := range goroutines {
		wg.Go(func() {
			for last := time.Duration(0); last < d; {
				if errs[i] = s.draw(1); errs[i] != nil {
					return
				}
				now := time.Since(start)
				own[i].add(now - last)
				last = now
			}
		})
	}
	wg.Wait()
	wall, busy := time.Since(start), cpuTime()-cpu
	var calls int
	for i := range own {
		calls += own[i].calls
		c.calls.merge(&own[i])
	}
	c.shares = append(c.shares, float64(calls)/(wall.Seconds()*1000)/s.limit)
	c.cores = append(c.cores, float64(busy)/float64(wall))
	return errors.Join(errs...)
}

// A histogram counts durations with an accuracy of about 3 %. The zero value is empty
// and ready to use.
type histogram struct {
	counts  [64 * 32]int
	calls   int
	longest time.Duration
}

func (h *histogram) add(d time.Duration) {
	h.counts[bucket(d)]++
	h.calls++
	h.longest = max(h.longest, d)
}

func (h *histogram) merge(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.calls += other.calls
	h.longest = max(h.longest, other.longest)
}

// bucket returns the bucket for d. There are 32 of them for each power of two, but
// below 32 ns, each nanosecond has its own.
func bucket(d time.Duration) int {
	n := uint64(max(d, 0))
	shift := max(bits.Len64(n)-6, 0)
	return shift*32 + int(n>>shift)
}

// within returns the time in nanoseconds that the given share of calls didn't exceed.
func (h *histogram) within(share float64) float64 {
	left := int(share * float64(h.calls))
	for i, n := range h.counts {
		if left -= n; left <= 0 && n > 0 {
			shift := max(i/32-1, 0)
			return min(float64(uint64(i-shift*32+1)<<shift), float64(h.longest))
		}
	}
	return float64(h.longest)
}
