package snowkey_test

import (
	"context"
	"database/sql"
	"log/slog"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

func openLayout(t testing.TB, store lease.Store, layout idgen.Layout, cfg snowkey.Config) *idgen.Pool {
	t.Helper()
	cfg.Layout = layout
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	pool, err := snowkey.Open(ctx, store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close(context.Background()) })
	return pool
}

// next takes an id, waiting for up to a second.
func next(t testing.TB, pool *idgen.Pool) (int64, error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	return pool.Next(ctx)
}

func mustNext(t testing.TB, pool *idgen.Pool) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	id, err := pool.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// workerOf returns the worker number of a pool, which must have one.
func workerOf(t testing.TB, pool *idgen.Pool) int64 {
	t.Helper()
	worker, ok := pool.Worker()
	if !ok {
		t.Error("the pool has no worker number")
	}
	return worker
}

// storeOf returns a store that uses a connection to db.
func storeOf(db dbtest.DB, conn *sql.DB) lease.Store {
	switch db.Dialect {
	case "postgres":
		return sqlstore.Postgres(conn)
	case "mysql":
		return sqlstore.MySQL(conn)
	}
	return sqlstore.SQLite(conn)
}

func execAll(t *testing.T, conn *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := conn.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}
