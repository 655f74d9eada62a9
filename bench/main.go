// Command bench measures what only a database server shows, and prints tables in Markdown:
//
//   - rows: the rate of inserts and the size of tables with auto-increment, Snowkey, UUIDv4
//     and UUIDv7, through each integration with its defaults
//   - starts: how long many processes take that lease a worker number at once
//
// The kinds of keys take turns, so noise on the machine affects all of them equally. Rates
// are medians, and a ratio is the median of the rounds' ratios with its quartiles, between
// which half of the rounds lie. Compare ratios, not times. The servers are private ones
// that flush every commit to disk; client and server share the machine's cores.
//
// Everything else is a Go benchmark in this directory; RESULTS.md has results.
// The module is one of its own, so that Snowkey does not depend on its peers.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

func main() {
	n := flag.Int("rows", 100_000, "how many rows to fill each table with; 0 leaves rows out")
	d := flag.Duration("t", 1500*time.Millisecond, "how long to measure each kind of key in each way")
	processes := flag.Int("starts", 64, "how many processes start at once; 0 leaves starts out")
	flag.Parse()
	owner := new(process)
	if pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(0)}); err != nil {
		owner.Fatalf("%v", err)
	} else {
		idgen.SetDefault(pool) // the integrations take their ids from it
	}
	err := run(owner, os.Stdout, *n, *d, *processes)
	owner.end()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(t dbtest.TB, w io.Writer, n int, d time.Duration, processes int) error {
	fmt.Fprintf(w, "%s %s/%s, %d CPUs, %s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), time.Now().Format(time.DateOnly))
	for _, dialect := range dbtest.Databases(t) {
		if dialect == "sqlite" {
			continue // has Go benchmarks
		}
		if n > 0 {
			if err := rows(t, w, dialect, n, d); err != nil {
				return err
			}
		}
		if processes > 0 {
			if err := starts(t, w, dialect, processes); err != nil {
				return err
			}
		}
	}
	return nil
}

// A process stands in for a test that owns servers.
type process struct {
	undo []func()
}

func (p *process) Helper()                  {}
func (p *process) Name() string             { return "bench" }
func (p *process) Logf(string, ...any)      {}
func (p *process) Cleanup(undo func())      { p.undo = append(p.undo, undo) }
func (p *process) Skipf(f string, a ...any) { p.Fatalf(f, a...) }

func (p *process) Fatalf(f string, a ...any) {
	p.end()
	fmt.Fprintf(os.Stderr, "bench: "+f+"\n", a...)
	os.Exit(1)
}

func (p *process) TempDir() string {
	dir, err := os.MkdirTemp("", "snowkey-bench-")
	if err != nil {
		p.Fatalf("%v", err)
	}
	p.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (p *process) end() {
	for len(p.undo) > 0 {
		last := p.undo[len(p.undo)-1]
		p.undo = p.undo[:len(p.undo)-1]
		last()
	}
}
