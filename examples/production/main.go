// Production is a small HTTP service as one runs in Kubernetes: GORM on Postgres,
// a migration that runs before the replicas start, probes, and an orderly end.
//
//	production migrate    creates the tables; any number may run at once
//	production            serves HTTP on $PORT until SIGTERM
//
// DATABASE_URL names the database. kubernetes.yaml runs both.
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
	db, err := gorm.Open(postgres.Open(os.Getenv("DATABASE_URL")))
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

// migrationLock is the advisory lock of this application's migrations: any
// number that no other application uses in this database.
const migrationLock = 7_350_912

// migrate creates the tables. GORM's AutoMigrate fails if two run at once, so the
// second waits for the lock of the first.
func migrate(ctx context.Context, db *gorm.DB, store *sqlstore.Store) error {
	err := db.WithContext(ctx).Connection(func(conn *gorm.DB) error {
		if err := conn.Exec("SELECT pg_advisory_lock(?)", migrationLock).Error; err != nil {
			return err
		}
		// The lock would also end with the connection.
		defer conn.Exec("SELECT pg_advisory_unlock(?)", migrationLock)
		return conn.AutoMigrate(&User{})
	})
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return store.Migrate(ctx) // may run at once by itself
}

func serve(ctx context.Context, db *gorm.DB, store lease.Store) error {
	// Waits until the database answers and a worker number is free.
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
	listener, err := net.Listen("tcp", ":"+os.Getenv("PORT"))
	if err != nil {
		return errors.Join(err, ids.Close(ctx))
	}
	slog.Info("production: serving", "address", listener.Addr().String())
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()

	select {
	case err = <-served:
	case <-ctx.Done():
		err = s.drain(server)
	}
	// Last, because requests that were under way still needed ids.
	closing, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return errors.Join(err, ids.Close(closing))
}
