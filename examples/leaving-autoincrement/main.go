// Leaving-autoincrement takes a shop off auto-increment without closing it. The shop
// has six tables with 200,000 rows and 32-bit keys, and two applications that keep
// placing orders. The first one doesn't send any keys until the database refuses rows
// without keys, at which point it gets updated. The second one starts as soon as
// generated keys are allowed. At the end, the program compares every row and every
// reference with what the two have written.
//
//	go run ./examples/leaving-autoincrement
//	go run ./examples/leaving-autoincrement -dsn postgres://user:password@host/empty
//	go run ./examples/leaving-autoincrement -dsn 'user:password@tcp(host)/empty'
//
// Without -dsn, the program uses an SQLite file, which it removes at the end. See
// models.go for how the models change. How the database changes is up to the plan made
// by autoinc.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/schema/pk"
)

func main() {
	log.SetFlags(0)
	dsn := flag.String("dsn", os.Getenv("SNOWKEY_DSN"), "the data source `name` of an empty Postgres or MySQL database; without one, an SQLite file (SNOWKEY_DSN)")
	total := flag.Int("rows", 200_000, "how many rows the shop begins with")
	flag.Parse()
	if err := leave(context.Background(), os.Stdout, *dsn, *total); err != nil {
		log.Fatal(err)
	}
}

func leave(ctx context.Context, out io.Writer, dsn string, total int) (err error) {
	dir, err := os.MkdirTemp("", "leaving-autoincrement-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := open(ctx, dsn, dir)
	if err != nil {
		return err
	}
	defer db.Close()

	if err := create(ctx, db); err != nil {
		return err
	}
	g, err := db.gorm()
	if err != nil {
		return err
	}
	seeded, err := seed(g.WithContext(ctx), total)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the shop has %d rows in %d tables, on %s\n\n", seeded.count(), len(tables), db.kind)

	plan, err := autoinc.NewPlan(ctx, db.DB, autoinc.PlanOptions{})
	if err != nil {
		return err
	}
	s := newShop(db, seeded)
	if err := s.migrate(ctx, out, plan); err != nil {
		return err
	}

	// We prove this in three ways: Verify reads the catalog and the data, Check
	// compares the models, and check compares the rows that the applications have
	// written.
	proof, err := autoinc.Verify(ctx, db.DB, plan)
	if err != nil {
		return err
	}
	if err := proof.Err(); err != nil {
		return err
	}
	if err := g.Use(gormid.New(gormid.Config{})); err != nil {
		return err
	}
	if err := gormid.Check(ctx, g, models[pk.ID]()...); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%d proofs: keys and children have 64 bits, nothing counts, a row without a key is refused\n\n", len(proof.Proofs))
	for _, a := range s.applications() {
		seeded.merge(a.written)
	}
	return check(ctx, out, db, seeded)
}

// A shop stays open while it is being migrated.
type shop struct {
	legacy, fresh *application
	switchedOn    chan struct{}
	stop          chan struct{}
}

func newShop(db database, seeded rows) *shop {
	s := &shop{switchedOn: make(chan struct{}), stop: make(chan struct{})}
	application := func(name string, number uint64) *application {
		return &application{
			name: name, db: db, seeded: seeded, random: rand.New(rand.NewPCG(number, number)),
			switchedOn: s.switchedOn, stop: s.stop, written: make(rows),
		}
	}
	s.legacy, s.fresh = application("the legacy application", 1), application("the new application", 2)
	return s
}

func (s *shop) applications() []*application { return []*application{s.legacy, s.fresh} }

// migrate applies the plan phase by phase, while both applications are running.
func (s *shop) migrate(ctx context.Context, out io.Writer, plan *autoinc.Plan) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	start := func(run func(context.Context) error) {
		running.Go(func() {
			if err := run(ctx); err != nil {
				cancel(err)
			}
		})
	}
	start(s.legacy.runLegacy)
	start(s.fresh.runNew)
	err := s.phases(ctx, out, plan)
	if err == nil {
		close(s.stop)
	} else {
		cancel(err)
	}
	running.Wait()
	if err == nil {
		err = context.Cause(ctx)
	}
	for _, a := range s.applications() {
		fmt.Fprintf(out, "%s placed %d orders, %d of them again because a table was altered at the same time\n", a.name, a.orders.Load(), a.again)
		if len(a.warnings) > 0 {
			fmt.Fprintf(out, "  when it began to send keys, Check warned of %d columns: %s\n", len(a.warnings), strings.Join(slices.Compact(a.warnings), ", "))
		}
	}
	return err
}

func (s *shop) phases(ctx context.Context, out io.Writer, plan *autoinc.Plan) error {
	if err := s.trade(ctx); err != nil {
		return err
	}
	for {
		before := s.legacy.orders.Load() + s.fresh.orders.Load()
		began := time.Now()
		steps := 0
		phase, err := autoinc.Apply(ctx, s.legacy.db.DB, plan, autoinc.ApplyOptions{
			Progress: func(p autoinc.Progress) {
				if p.Event == autoinc.Ended {
					steps++
				}
			},
		})
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		if phase.Name == "" {
			return nil
		}
		fmt.Fprintf(out, "%-10s %2d steps in %5.2f s, with %d orders\n",
			phase.Name, steps, time.Since(began).Seconds(), s.legacy.orders.Load()+s.fresh.orders.Load()-before)
		if phase.Name == autoinc.SwitchOn {
			close(s.switchedOn)
		}
		if err := s.trade(ctx); err != nil {
			return err
		}
	}
}

// trade waits until every application that may write has placed some more orders.
// Between the fence and the switch, no application may write, so there's nothing to
// wait for.
func (s *shop) trade(ctx context.Context) error {
	const some = 20
	for _, a := range s.applications() {
		for before := a.orders.Load(); a.orders.Load() < before+some && s.mayWrite(a); {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(time.Millisecond):
			}
		}
	}
	return nil
}

func (s *shop) mayWrite(a *application) bool {
	select {
	case <-s.switchedOn:
		return true
	default:
		return a == s.legacy && !a.refused.Load()
	}
}
