// Graph measures what you can save with client-generated keys. It writes orders that
// have three lines and a payment each, with keys that are taken from a pool, generated
// by auto-increment, or UUIDs of version 7. The different ways take turns, and the
// table shows how much faster the pool's keys are.
//
//	go run ./examples/graph -postgres postgres://user:password@127.0.0.1/scratch
//	go run ./examples/graph -mysql 'user:password@tcp(127.0.0.1)/scratch'
//
// Instead of the flags, you can also set GRAPH_POSTGRES and GRAPH_MYSQL. The program
// creates tables whose names begin with snowkey_graph_, and drops them when it's done.
// It needs about a minute for each database.
//
// To keep the comparison fair, all ways use the same columns, indexes and transactions,
// and are optimised. They also must give every object in memory the key of its row. See
// README.md for the results and what they mean.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
)

// options defines the amount of work.
type options struct {
	rounds int
	graphs int // orders per transaction, when written one after another
	late   int // the same, on a delayed connection
	bulk   int // orders per transaction, when written in bulk
	delay  time.Duration
}

var usual = options{rounds: 21, graphs: 500, late: 100, bulk: 5000, delay: time.Millisecond}

func main() {
	log.SetFlags(0)
	postgres := flag.String("postgres", "", "the `DSN` of a Postgres database (GRAPH_POSTGRES)")
	mysql := flag.String("mysql", "", "the `DSN` of a MySQL or MariaDB database (GRAPH_MYSQL)")
	o := usual
	flag.IntVar(&o.rounds, "rounds", o.rounds, "how many times each way is measured")
	flag.IntVar(&o.graphs, "graphs", o.graphs, "orders in a transaction that writes them one after another")
	flag.IntVar(&o.late, "late", o.late, "the same on a delayed connection")
	flag.IntVar(&o.bulk, "bulk", o.bulk, "orders in a transaction that writes them in bulk")
	flag.DurationVar(&o.delay, "delay", o.delay, "how much later a delayed connection sends")
	flag.Parse()
	ctx := context.Background()
	servers := []struct {
		open opener
		dsn  string
	}{
		{openPostgres, cmp.Or(*postgres, os.Getenv("GRAPH_POSTGRES"))},
		{openMySQL, cmp.Or(*mysql, os.Getenv("GRAPH_MYSQL"))},
	}
	measured := false
	for _, s := range servers {
		if s.dsn == "" {
			continue
		}
		measured = true
		if err := run(ctx, os.Stdout, s.open, s.dsn, o); err != nil {
			log.Fatal(err)
		}
	}
	if !measured {
		log.Fatal("graph: what it measures are round trips to a server: name one with -postgres or -mysql")
	}
}

// opener connects to one kind of server.
type opener func(ctx context.Context, dsn string, o options) (server, error)

// run measures one server and prints a table for each job.
func run(ctx context.Context, out io.Writer, open opener, dsn string, o options) (err error) {
	if min(o.rounds, o.graphs, o.late, o.bulk) < 1 {
		return errors.New("graph: -rounds, -graphs, -late and -bulk must be at least 1")
	}
	s, err := open(ctx, dsn, o)
	if err != nil {
		return err
	}
	defer s.close(ctx)

	// A fixed worker number is enough, because no other process writes to these tables.
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(0)})
	if err != nil {
		return err
	}
	defer pool.Close(ctx)

	about, err := s.describe(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n%s %s/%s, %d CPUs, %s\n", about, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), time.Now().Format(time.DateOnly))
	for _, foreignKeys := range []bool{true, false} {
		for _, j := range s.jobs(pool, o) {
			r, err := measure(ctx, s, j, foreignKeys, o.rounds)
			if err != nil {
				return err
			}
			if err := r.print(out); err != nil {
				return err
			}
		}
	}
	return nil
}
