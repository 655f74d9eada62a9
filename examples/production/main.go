// Production is a small HTTP service of the kind that you would run in Kubernetes. It
// uses GORM on Postgres, and has a migration that runs before the replicas start,
// probes, metrics, and a graceful shutdown.
//
//	production migrate    creates the tables; safe to run concurrently
//	production            serves HTTP on $PORT until it receives SIGTERM, and metrics on
//	                      $METRICS_PORT
//
// DATABASE_URL must contain the DSN of the database. See kubernetes.yaml for how to run
// both.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		slog.Error("production: ended", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	// With a ping, the program would end at once if the database is not up yet.
	db, err := gorm.Open(postgres.Open(os.Getenv("DATABASE_URL")), &gorm.Config{DisableAutomaticPing: true})
	if err != nil {
		return fmt.Errorf("open DATABASE_URL: %w", err)
	}
	conns, err := db.DB()
	if err != nil {
		return err
	}
	defer conns.Close()
	store := sqlstore.Postgres(conns)
	if len(args) > 0 && args[0] == "migrate" {
		return migrate(ctx, db, store)
	}
	return serve(ctx, db, store)
}

// migrationLock is the key of the advisory lock that this application takes to migrate.
// It can be any number, as long as no other application uses it in this database.
const migrationLock = 7_350_912

// migrate creates the tables. GORM's AutoMigrate fails if it runs concurrently, so we
// take a lock to make a second migration wait for the first.
func migrate(ctx context.Context, db *gorm.DB, store *sqlstore.Store) error {
	err := db.WithContext(ctx).Connection(func(conn *gorm.DB) error {
		if err := conn.Exec("SELECT pg_advisory_lock(?)", migrationLock).Error; err != nil {
			return err
		}
		// If we crash, the lock is released with the connection.
		defer conn.Exec("SELECT pg_advisory_unlock(?)", migrationLock)
		return conn.AutoMigrate(&User{})
	})
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return store.Migrate(ctx) // needs no lock, since it's safe to run concurrently
}

func serve(ctx context.Context, db *gorm.DB, store lease.Store) error {
	// Open waits until the database answers and a worker number is free.
	starting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	ids, err := snowkey.Open(starting, store, snowkey.Config{SkipMigrate: true})
	if err != nil {
		return err
	}
	if err := db.Use(gormid.New(gormid.Config{Source: ids})); err != nil {
		return errors.Join(err, ids.Close(ctx))
	}

	s := newService(db, ids)
	server := &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second}
	metrics := &http.Server{Handler: newMetrics(ids), ReadHeaderTimeout: 5 * time.Second}
	defer metrics.Close()
	served := make(chan error, 2)
	err = errors.Join(
		listen(server, "serving", os.Getenv("PORT"), served),
		listen(metrics, "metrics", os.Getenv("METRICS_PORT"), served))
	if err == nil {
		select {
		case err = <-served:
		case <-ctx.Done():
			err = s.drain(server)
		}
	}
	// We close the pool last because requests that were still running needed ids.
	closing, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return errors.Join(err, ids.Close(closing))
}

func listen(server *http.Server, what, port string, served chan<- error) error {
	listener, err := net.Listen("tcp", ":"+port)
	if err != nil {
		return err
	}
	slog.Info("production: "+what, "address", listener.Addr().String())
	go func() { served <- server.Serve(listener) }()
	return nil
}
