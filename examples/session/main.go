// Session is an HTTP service with users, passwords and sessions: login, logout, logout
// everywhere, a change of the password, and timeouts. Users are in Postgres. Sessions are
// there too, or in Redis or Valkey if REDIS_URL is set.
//
//	export DATABASE_URL=postgres://localhost/shop SESSION_KEYS=1:$(openssl rand -hex 32)
//	go run ./examples/session
//
// It serves plain HTTP on 127.0.0.1:$PORT, behind a proxy that terminates TLS. Browsers
// don't store its cookie on pages without TLS, except on localhost.
package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
	"github.com/snowkey-go/snowkey/token"
	"github.com/snowkey-go/snowkey/token/redistoken"
	"github.com/snowkey-go/snowkey/token/sqltoken"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", "127.0.0.1:"+cmp.Or(os.Getenv("PORT"), "8080"))
	if err == nil {
		err = run(ctx, listener)
	}
	if err != nil {
		slog.Error("session: ended", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, listener net.Listener) error {
	defer listener.Close()
	keys, err := token.ParseKeys(os.Getenv("SESSION_KEYS"))
	if err != nil {
		return fmt.Errorf("SESSION_KEYS: %w", err)
	}
	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	if err != nil {
		return fmt.Errorf("DATABASE_URL: %w", err)
	}
	defer db.Close()
	ids, err := snowkey.Open(ctx, sqlstore.Postgres(db), snowkey.Config{})
	if err != nil {
		return err
	}
	defer ids.Close(context.WithoutCancel(ctx))
	signer, err := token.New(token.Config{Keys: keys, IDs: ids}) // 12 hours, and 30 minutes without a request
	if err != nil {
		return err
	}
	users := &users{db: db, ids: ids}
	if err := users.migrate(ctx); err != nil {
		return err
	}
	store, err := openStore(ctx, db)
	if err != nil {
		return err
	}

	server := &http.Server{Handler: newHandler(users, &sessions{signer, store}), ReadHeaderTimeout: 5 * time.Second}
	slog.Info("session: serving", "address", listener.Addr().String())
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err = <-served:
		return err
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return server.Shutdown(ending)
}

// openStore returns the store that REDIS_URL names, or one in db.
func openStore(ctx context.Context, db *sql.DB) (token.Store, error) {
	url := os.Getenv("REDIS_URL")
	if url == "" {
		store := sqltoken.Postgres(db)
		if err := store.Migrate(ctx); err != nil {
			return nil, err
		}
		go cleanUp(ctx, store)
		return store, nil
	}
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("REDIS_URL is not valid; use redis://user:password@host:6379/0") // the error may have the password
	}
	return redistoken.New(redis.NewClient(options)), nil // expires sessions by itself
}

// cleanUp deletes expired sessions every 10 minutes until ctx ends. All replicas may do
// so.
func cleanUp(ctx context.Context, store *sqltoken.Store) {
	for ticks := time.Tick(10 * time.Minute); ; {
		if err := store.Cleanup(ctx, time.Now()); err != nil && ctx.Err() == nil {
			slog.Error("session: expired sessions could not be deleted", "error", err)
		}
		select {
		case <-ticks:
		case <-ctx.Done():
			return
		}
	}
}
