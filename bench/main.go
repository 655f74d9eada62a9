// Command bench measures snowkey, prints one table of it, and says of every
// promise in it whether it was kept:
//
//	cd bench && go run .
//
// Each line compares a piece of work with a yardstick: what somebody would do
// otherwise, or the least that it could cost. The two take turns of some
// milliseconds, A B, B A and so on, for one and a half seconds. Costs are medians of the
// turns; the ratio is the median of the rounds' ratios, with its quartiles. So a
// noisy machine widens the quartiles before it moves the ratio, and a ratio says
// the same on a slow machine as on a fast one. A cost does not. The whole takes
// about two minutes; -t 100ms gives a quick look.
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
	"time"
)

func main() {
	d := flag.Duration("t", 1500*time.Millisecond, "how long to measure each line")
	flag.Parse()
	if err := run(*d); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(d time.Duration) (err error) {
	dir, err := os.MkdirTemp("", "snowkey-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	t, err := s.measure(d)
	if err != nil {
		return err
	}
	fmt.Printf("snowkey on %s, %s\n\n", machine(), time.Now().Format(time.DateOnly))
	t.print(os.Stdout)
	return nil
}
