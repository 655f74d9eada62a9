// Twodb stores events in two databases, using ent for one and GORM for the other. The
// keys for both come from the same pool, so they are unique and in order even across
// the two databases. Also, a range of time corresponds to the same range of keys in
// both.
//
//	go run ./examples/twodb -postgres postgres://… -mysql 'user:password@tcp(host)/shop'
//
// You can also set TWODB_POSTGRES and TWODB_MYSQL instead. If there is no DSN for a
// database, the program uses an SQLite file in its place and removes it at the end.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"time"

	"entgo.io/ent/dialect"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
)

func main() {
	log.SetFlags(0)
	postgres := flag.String("postgres", "", "the `DSN` of the Postgres database that ent uses (TWODB_POSTGRES)")
	mysql := flag.String("mysql", "", "the `DSN` of the MySQL or MariaDB database that GORM uses (TWODB_MYSQL)")
	flag.Parse()
	err := twodb(context.Background(), os.Stdout,
		cmp.Or(*postgres, os.Getenv("TWODB_POSTGRES")), cmp.Or(*mysql, os.Getenv("TWODB_MYSQL")))
	if err != nil {
		log.Fatal(err)
	}
}

func twodb(ctx context.Context, out io.Writer, postgresDSN, mysqlDSN string) (err error) {
	dir, err := os.MkdirTemp("", "twodb-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	first, err := open(ctx, dialect.Postgres, postgresDSN, dir, "ent.db")
	if err != nil {
		return fmt.Errorf("opening the first database: %w", err)
	}
	defer first.Close()
	second, err := open(ctx, dialect.MySQL, mysqlDSN, dir, "gorm.db")
	if err != nil {
		return fmt.Errorf("opening the second database: %w", err)
	}
	defer second.Close()

	// We only need one lease for both databases. It makes the worker number unique
	// among the processes that lease from the same store, so make sure that all
	// processes lease from the first database, even those that write to the second.
	//
	// The first keys of a new worker number can have a time that is up to Window and
	// MaxClockSkew ahead. Since this program searches by time, we make both short.
	pool, err := snowkey.Open(ctx, first.store(), snowkey.Config{Window: time.Second, MaxClockSkew: 200 * time.Millisecond})
	if err != nil {
		return fmt.Errorf("leasing a worker number: %w", err)
	}
	defer pool.Close(ctx)
	idgen.SetDefault(pool)
	if err := present(ctx, pool); err != nil {
		return err
	}

	byEnt, err := openEnt(ctx, first)
	if err != nil {
		return fmt.Errorf("opening ent: %w", err)
	}
	byGORM, err := openGORM(ctx, second)
	if err != nil {
		return fmt.Errorf("opening GORM: %w", err)
	}
	return spendDay(ctx, out, pool.Layout(), []journal{byEnt, byGORM})
}

// spendDay records the meals of a day, prints what happened during lunch, and counts
// the events.
func spendDay(ctx context.Context, out io.Writer, layout idgen.Layout, journals []journal) error {
	if err := record(ctx, journals, "breakfast"); err != nil {
		return err
	}
	from := time.Now()
	if err := record(ctx, journals, "lunch"); err != nil {
		return err
	}
	to := time.Now()
	if err := record(ctx, journals, "dinner"); err != nil {
		return err
	}

	found, err := during(ctx, layout, journals, from, to)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "from %s to %s:\n\n", from.UTC().Format(clock), to.UTC().Format(clock))
	if err := printEvents(out, layout, found); err != nil {
		return err
	}
	all, err := between(ctx, journals, 1, math.MaxInt64)
	if err != nil {
		return err
	}
	if err := distinct(all); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\n%d events in both, with different keys\n", len(all))
	return err
}

// present waits until new keys have the present time.
func present(ctx context.Context, pool *idgen.Pool) error {
	for {
		behind := pool.Health().Behind
		if behind == 0 {
			return nil
		}
		if err := sleep(ctx, behind); err != nil {
			return err
		}
	}
}

// record writes four events, alternating between the journals.
func record(ctx context.Context, journals []journal, meal string) error {
	// Pause before and after each event to make sure that the times differ.
	const moment = 10 * time.Millisecond
	for i, what := range []string{"guests come", "they order", "they pay", "they go"} {
		if err := sleep(ctx, moment); err != nil {
			return err
		}
		j := journals[i%len(journals)]
		if err := j.record(ctx, meal+": "+what); err != nil {
			return fmt.Errorf("recording in %v: %w", j, err)
		}
	}
	return sleep(ctx, moment)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
