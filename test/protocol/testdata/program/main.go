// Program does to a store what its argument says, and prints "done" or the error. The
// tests of package protocol build it for two versions.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/idgen/segment/segmentstore"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/filestore"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	began := time.Now()
	if err := do(ctx, os.Args[1]); err != nil {
		text := strings.ReplaceAll(err.Error(), "\n", "; ")
		if time.Since(began) > 30*time.Second {
			text = "too late: " + text
		}
		fmt.Println("error:", text)
		return
	}
	fmt.Println("done")
}

func do(ctx context.Context, what string) error {
	dialect, dsn := os.Getenv("DIALECT"), os.Getenv("DSN")
	var leases lease.Store
	var segments *segmentstore.Store
	switch dialect {
	case "file":
		leases = filestore.Dir(dsn)
	default:
		db, err := sql.Open(os.Getenv("DRIVER"), dsn)
		if err != nil {
			return err
		}
		defer db.Close()
		switch dialect {
		case "postgres":
			leases, segments = sqlstore.Postgres(db), segmentstore.Postgres(db)
		case "mysql":
			leases, segments = sqlstore.MySQL(db), segmentstore.MySQL(db)
		}
	}
	cfg := snowkey.Config{MaxClockSkew: 100 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)}
	what, skip := strings.CutSuffix(what, " without migration")
	what, other := strings.CutSuffix(what, " of another name")
	name := "orders"
	if other {
		cfg.Namespace, name = "another", "another"
	}
	cfg.SkipMigrate = skip
	switch what {
	case "lease":
		pool, err := snowkey.Open(ctx, leases, cfg)
		if err != nil {
			return err
		}
		if _, err := pool.Next(ctx); err != nil {
			return err
		}
		return pool.Close(ctx)
	case "held lease": // until the input ends or the lease is lost
		cfg.Window = time.Second
		lost := make(chan error, 1)
		cfg.OnLost = func(e *lease.LostError) { lost <- e }
		pool, err := snowkey.Open(ctx, leases, cfg)
		if err != nil {
			return err
		}
		fmt.Println("held")
		go func() {
			io.Copy(io.Discard, os.Stdin)
			lost <- nil
		}()
		if err := <-lost; err != nil {
			time.Sleep(time.Second)
			return fmt.Errorf("%w; now %w", err, pool.Health().Reason)
		}
		return pool.Close(ctx)
	case "fence":
		return snowkey.Fence(ctx, leases, cfg)
	case "doctor":
		_, err := snowkey.Doctor(ctx, leases, cfg)
		return err
	case "segment":
		if !skip {
			if err := segments.Migrate(ctx); err != nil {
				return err
			}
		}
		_, err := segments.Fetch(ctx, segment.Fetch{Name: name, Min: 1, Limit: 1000, Span: 10})
		return err
	}
	return fmt.Errorf("no such action: %s", what)
}
