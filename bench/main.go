// Command bench measures Snowkey and prints the results as one table:
//
//	make bench
//
// Each line compares a piece of work with a yardstick, which is either an alternative
// or the lowest possible cost. The two take turns of a few milliseconds in the order A
// B, B A and so on, for one and a half seconds. Costs are medians of the turns, and the
// ratio is the median of the rounds' ratios, printed with its quartiles. If the machine
// is noisy, the quartiles widen well before the ratio moves. Only ratios can be
// compared between machines, so don't read much into costs.
//
// Some lines have a bar, which is a value that the result must reach. If a result
// misses its bar, the table prints MISSED and lists the bar again at the end, but the
// exit status is 1 only if something could not be measured.
//
// The studies after the table compare more than two workloads. They measure single
// calls at a layout's maximum rate, how the cost of an id depends on the rate and on
// the number of cores, and inserts. The inserts go into tables of -rows rows in
// Postgres and in MySQL or MariaDB, using four integrations and four kinds of keys.
//
// A run takes about eight minutes. For a quick look, use -t 100ms -rows 20000. The
// -only flag selects topics by their titles. With -write, the command also writes
// docs/benchmarks.md and its plots; see make benchmarks.
//
// With -herd, the command instead measures how processes start: a thousand at once, one
// alone, after an outage of the database, while all worker numbers are in use, and
// processes that only live briefly. This takes about half an hour, so you may want to
// select a part with -starts and -only:
//
//	make herd BENCHFLAGS="-starts 64,256 -only Starting"
//
// With -stores, it measures the time to the first id and the requests of one process on
// each store, and prints the table of docs/choosing-a-store.md. This takes about ten
// minutes:
//
//	make stores
//
// With -check, it measures the lines of the table that need neither a disk nor a server
// three times, and compares the medians of their ratios with those of the last release.
// The exit status is 1 if one of them lost more than 10 %. Run it before a release, on a
// quiet machine:
//
//	make bench-check               # compares
//	make bench-check UPDATE=yes    # writes bench/release.txt
//
// To measure additional servers as well, set SNOWKEY_TEST_POSTGRES and
// SNOWKEY_TEST_MYSQL. Make sure that their max_connections is large enough.
//
// The same workloads can be run as Go benchmarks, for benchstat and profiles:
//
//	GOWORK=$PWD/newest.work go test -bench . -count 10 ./bench
//
// bench has its own module, because otherwise Snowkey would depend on the peers that it
// is compared with.
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
	only := flag.String("only", "", "measure only topics and studies with this in their titles")
	page := flag.String("write", "", "also write the page to this file, and its plots beside it")
	isHerd := flag.Bool("herd", false, "measure how processes start")
	starts := flag.String("starts", "64,256,1024", "with -herd: the numbers of processes that start at once, for one run each")
	stores := flag.Bool("stores", false, "measure all stores, for docs/choosing-a-store.md")
	release := flag.String("check", "", "compare ratios with those in this file, which are of the last release")
	update := flag.Bool("update", false, "with -check: write the file")
	flag.Parse()
	if *release != "" {
		if err := checkRelease(os.Stdout, *release, *update, *only, *d); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if *stores {
		if err := runStores(*only); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
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

func runStores(only string) (err error) {
	dir, err := os.MkdirTemp("", "snowkey-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	kinds := slices.DeleteFunc(slices.Clone(storeKinds), func(k storeKind) bool { return !strings.Contains(k.name, only) })
	table, err := measureStores(dir, kinds, fullStorePlan)
	if err != nil {
		return err
	}
	fmt.Printf("snowkey on %s, %s\n", machine(), time.Now().Format(time.DateOnly))
	table.markdown(os.Stdout)
	return nil
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

// measureTable opens the suite just for one measurement.
func measureTable(dir, only string, d time.Duration) (t table, err error) {
	s, err := open(dir)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	s.topics = slices.DeleteFunc(s.topics, func(t topic) bool { return !strings.Contains(t.title, only) })
	return s.measure(d)
}
