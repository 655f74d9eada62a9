package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// starts measures how n processes start at once: each opens a connection, leases a worker
// number and makes an id. The yardstick is the connection alone, with SELECT 1. Processes
// are pools in this process, which shares the cores with the server.
func starts(t dbtest.TB, w io.Writer, dialect string, n int) error {
	settings := []string{fmt.Sprintf("max_connections=%d", n+300)}
	if dialect == "mysql" {
		// With the default, some of a thousand connects wait a second until TCP tries again.
		settings = append(settings, fmt.Sprintf("back_log=%d", n+300))
	}
	server, process := dbtest.Killable(t, dialect, settings...)
	if dialect == "postgres" {
		server.DSN += "?sslmode=disable" // otherwise pgx connects twice, to try TLS first
	}
	s := sheet{
		title:   fmt.Sprintf("%s: %d processes start at once", server.Version, n),
		columns: []string{"", "failed", "p50", "p99", "longest", "CPU of the server, each", "of the client"},
	}
	for _, kind := range []struct {
		name string
		open func(context.Context, *sql.DB) (io.Closer, error)
	}{
		{"the connection alone", func(ctx context.Context, db *sql.DB) (io.Closer, error) {
			var one int
			return db, db.QueryRowContext(ctx, "SELECT 1").Scan(&one)
		}},
		{"a new namespace", openIn(server, "starts")},
		{"rows exist", openIn(server, "starts")},
	} {
		started, err := atOnce(server, n, kind.open, process)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", server.Version, kind.name, err)
		}
		at := func(share float64) string {
			if i := int(share * float64(n-1)); i < len(started.took) {
				return started.took[i].Round(time.Millisecond / 10).String()
			}
			return "–"
		}
		s.rows = append(s.rows, []string{kind.name, fmt.Sprint(n - len(started.took)), at(0.5), at(0.99), at(1),
			(started.server / time.Duration(n)).Round(time.Microsecond).String(), (started.client / time.Duration(n)).Round(time.Microsecond).String()})
		if started.failed != nil {
			fmt.Fprintf(w, "\n%s: %v\n", kind.name, started.failed)
		}
	}
	s.print(w)
	return nil
}

// openIn leases a worker number from a namespace, and makes an id.
func openIn(server dbtest.DB, namespace string) func(context.Context, *sql.DB) (io.Closer, error) {
	return func(ctx context.Context, db *sql.DB) (io.Closer, error) {
		var store lease.Store = sqlstore.Postgres(db)
		if server.Dialect == "mysql" {
			store = sqlstore.MySQL(db)
		}
		pool, err := snowkey.Open(ctx, store, snowkey.Config{Namespace: namespace, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return db, err
		}
		_, err = pool.Next(ctx)
		return closer{pool, db}, err
	}
}

type closer struct {
	pool *idgen.Pool
	db   *sql.DB
}

func (c closer) Close() error { return errors.Join(c.pool.Close(context.Background()), c.db.Close()) }

// A start has the times of those that succeeded, sorted, an error of those that did not,
// and the CPU time of all.
type start struct {
	took           []time.Duration
	failed         error
	server, client time.Duration
}

// atOnce calls open n times at once, each with a connection of its own.
func atOnce(server dbtest.DB, n int, open func(context.Context, *sql.DB) (io.Closer, error), process *dbtest.Process) (s start, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var (
		mu     sync.Mutex
		wg     sync.WaitGroup
		begin  = make(chan struct{})
		opened = make([]io.Closer, n)
	)
	for i := range n {
		db, err := sql.Open(server.Driver, server.DSN)
		if err != nil {
			return s, err
		}
		db.SetMaxOpenConns(1)
		wg.Go(func() {
			<-begin
			began := time.Now()
			closes, err := open(ctx, db)
			took := time.Since(began)
			mu.Lock()
			defer mu.Unlock()
			if opened[i] = closes; err != nil {
				s.failed = err
			} else {
				s.took = append(s.took, took)
			}
		})
	}
	used, clientUsed := serverCPU(process), cpuTime()
	close(begin)
	wg.Wait()
	s.server, s.client = serverCPU(process)-used, cpuTime()-clientUsed
	slots := make(chan struct{}, 32)
	for _, c := range opened {
		slots <- struct{}{}
		wg.Go(func() { _ = c.Close(); <-slots }) // a lease that can't be given back expires
	}
	wg.Wait()
	slices.Sort(s.took)
	return s, nil
}
