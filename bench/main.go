// Command bench measures snowkey, prints one table of it, and says of every
// promise in it whether it was kept:
//
//	GOWORK=$PWD/newest.work go run ./bench
//
// Each line compares a piece of work with a yardstick: what somebody would do
// otherwise, or the least that it could cost. The two take turns of some
// milliseconds, A B, B A and so on, for one and a half seconds. Costs are medians of the
// turns; the ratio is the median of the rounds' ratios, with its quartiles. So a
// noisy machine widens the quartiles before it moves the ratio, and a ratio says
// the same on a slow machine as on a fast one. A cost does not.
//
// Studies follow, of several at once: single calls at the ceiling; how the cost of
// an id grows with the rate and with cores; and inserts into Postgres and MySQL
// or MariaDB, by four integrations, with four kinds of keys, into tables of -rows
// rows.
//
// The whole takes about eight minutes; -t 100ms -rows 20000 gives a quick look, and
// -only a part. With -write it also writes docs/benchmarks.md and draws its plots:
// see make benchmarks.
//
// With -herd it measures instead how processes start: a thousand at once, alone, after
// an outage of the database, while all worker numbers are in use, and short-lived
// ones. That takes about half an hour, and -starts and -only a part:
//
//	go run . -herd -starts 64,256 -only Starting
//
// SNOWKEY_TEST_POSTGRES and SNOWKEY_TEST_MYSQL name further servers to measure,
// whose max_connections must be large enough.
//
// A bar that was missed is printed as MISSED and named below the table. The
// exit status is 0 all the same, because a measurement is not a test: it fails
// only if something could not be measured.
//
// The same workloads are Go benchmarks, for benchstat and profiles:
//
//	go test -bench . -count 10
//
// bench is a module of its own, so that the peers that it compares with are
// nobody's dependency.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	d := flag.Duration("t", 1500*time.Millisecond, "how long to measure each line")
	rows := flag.Int("rows", 100_000, "how many rows to fill the tables of the servers with")
	only := flag.String("only", "", "measure only what has this in its title")
	page := flag.String("write", "", "write the page to this file as well, and its plots beside it")
	isHerd := flag.Bool("herd", false, "measure how many processes start at once, and the like")
	starts := flag.String("starts", "64,256,1024", "with -herd: how many processes start at once, in one run after the other")
	flag.Parse()
	if *isHerd {
		if err := runHerd(*starts, *only); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(*d, *rows, *only, *page); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func runHerd(starts, only string) (err error) {
	var list []int
	for text := range strings.SplitSeq(starts, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("-starts %s: %q is not a number of processes", starts, text)
		}
		list = append(list, n)
	}
	dir, err := os.MkdirTemp("", "snowkey-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	fmt.Printf("snowkey on %s, %s\n", machine(), time.Now().Format(time.DateOnly))
	_, err = measureHerd(os.Stdout, dir, only, fullHerd(list))
	return err
}

func run(d time.Duration, rows int, only, page string) (err error) {
	start := time.Now()
	dir, err := os.MkdirTemp("", "snowkey-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := report{each: d, rows: rows}
	if r.table, err = measureTable(dir, only, d); err != nil {
		return err
	}
	fmt.Printf("snowkey on %s, %s\n\n", machine(), time.Now().Format(time.DateOnly))
	r.table.print(os.Stdout)
	if r.found, err = measureStudies(dir, rows, only, d); err != nil {
		return err
	}
	for _, f := range r.found {
		f.print(os.Stdout)
	}
	r.took = time.Since(start)
	if page != "" {
		return r.write(page)
	}
	return nil
}

// measureTable opens the suite for one measurement.
func measureTable(dir, only string, d time.Duration) (t table, err error) {
	s, err := open(dir)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	s.topics = slices.DeleteFunc(s.topics, func(t topic) bool { return !strings.Contains(t.title, only) })
	return s.measure(d)
}
