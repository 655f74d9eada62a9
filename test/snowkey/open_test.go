package snowkey_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	gomysql "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// 64 processes start at the same time on an empty database, each with its own
// connections. None of them may fail because of another, and no two may have the same
// worker number.
func TestSixtyFourFirstStarts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		const n = 64
		var wg sync.WaitGroup
		pools := make([]*idgen.Pool, n)
		began := time.Now()
		for i := range n {
			conn := db.Connect(t)
			conn.SetMaxOpenConns(1)
			store := storeOf(db, conn)
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				var err error
				pools[i], err = snowkey.Open(ctx, store, snowkey.Config{Logger: slog.New(slog.DiscardHandler)})
				if err == nil {
					_, err = pools[i].Next(ctx)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		t.Logf("64 first ids after %v", time.Since(began).Round(time.Millisecond))
		workers := map[int64]bool{}
		for _, p := range pools {
			if p != nil {
				workers[workerOf(t, p)] = true
			}
		}
		if len(workers) != n {
			t.Errorf("%d workers for %d processes", len(workers), n)
		}
		for _, p := range pools {
			wg.Go(func() {
				if err := p.Close(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}

// While all worker numbers are in use, every Open that waits must return an error that
// names the holders, even if it couldn't get a connection for its last attempt.
func TestOpenReportsTheHolders(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		conn := db.Connect(t)
		conn.SetMaxOpenConns(4)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		const n = 40
		told := &counter{most: n, done: cancel}
		cfg := snowkey.Config{Layout: idgen.DefaultLayout(), MinWorker: 1, MaxWorker: 1, MaxClockSkew: 100 * time.Millisecond, Label: "the holder", Logger: slog.New(slog.DiscardHandler)}
		openLayout(t, storeOf(db, db.Connect(t)), cfg.Layout, cfg)
		store := storeOf(db, conn)
		cfg.Logger = slog.New(slog.NewTextHandler(told, nil))
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				_, err := snowkey.Open(ctx, store, cfg)
				e, ok := errors.AsType[*lease.TakenError](err)
				if !ok || len(e.Holders) != 1 || e.Holders[0] != "the holder" || !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
			})
		}
		wg.Wait()
	})
}

// A counter calls done after most writes that say that worker numbers are in use. Each
// process that waits logs this once.
type counter struct {
	n    atomic.Int64
	most int64
	done func()
}

func (c *counter) Write(line []byte) (int, error) {
	if strings.Contains(string(line), "in use") && c.n.Add(1) == c.most {
		c.done()
	}
	return len(line), nil
}

const password = "correct-horse-battery-staple"

// failsAtOnce checks that Open fails without retrying. The error must contain the given
// words, but no password.
func failsAtOnce(t *testing.T, db dbtest.DB, dsn, table string, words ...string) {
	t.Helper()
	conn, err := sql.Open(db.Driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	store := storeOf(db, conn)
	if tables, ok := store.(*sqlstore.Store); ok {
		if store, err = tables.WithTable(table); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var log strings.Builder
	began := time.Now()
	_, err = snowkey.Open(ctx, store, snowkey.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if permanent, ok := errors.AsType[*lease.PermanentError](err); !ok || permanent.Remedy == "" || ctx.Err() != nil {
		t.Errorf("after %v: %v", time.Since(began), err)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q is not in the error: %v", word, err)
		}
	}
	if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), password) || strings.Contains(log.String(), password) {
		t.Error("the password is in the error or in the log")
	}
	t.Log(err)
}

func TestOpenFailsAtOnce(t *testing.T) {
	t.Parallel()
	const table = "snowkey_lease"
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		db := dbtest.Postgres(t)
		conn := db.Connect(t)
		user := "nobody_" + dbtest.Rows(t, conn, "SELECT current_database()")[0]
		execAll(t, conn, "CREATE ROLE "+user+" LOGIN PASSWORD '"+password+"'", "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
		t.Cleanup(func() { execAll(t, conn, "DROP ROLE "+user) })
		as := func(change func(*url.URL)) string {
			u, err := url.Parse(db.DSN)
			if err != nil {
				t.Fatal(err)
			}
			u.User = url.UserPassword(user, password)
			change(u)
			return u.String()
		}
		failsAtOnce(t, db, as(func(*url.URL) {}), table, "permission denied", "privileges")
		failsAtOnce(t, db, as(func(u *url.URL) { u.Path = "/nowhere" }), table, "nowhere", "database")
		failsAtOnce(t, db, as(func(u *url.URL) { u.User = url.UserPassword("somebody", password) }), table, "somebody", "user")
		failsAtOnce(t, db, db.DSN, "nowhere.leases", "nowhere", "schema")
	})
	t.Run("mysql", func(t *testing.T) {
		t.Parallel()
		db := dbtest.MySQL(t)
		conn := db.Connect(t)
		parsed, err := gomysql.ParseDSN(db.DSN)
		if err != nil {
			t.Fatal(err)
		}
		user := strings.Replace(parsed.DBName, "snowkey_", "nobody_", 1)
		t.Cleanup(func() { execAll(t, conn, "DROP USER '"+user+"'") })
		execAll(t, conn, "CREATE USER '"+user+"' IDENTIFIED BY '"+password+"'", "GRANT SELECT ON "+parsed.DBName+".* TO '"+user+"'")
		as := func(change func(*gomysql.Config)) string {
			c := parsed.Clone()
			c.User, c.Passwd = user, password
			change(c)
			return c.FormatDSN()
		}
		failsAtOnce(t, db, as(func(*gomysql.Config) {}), table, "denied", "privileges")
		failsAtOnce(t, db, as(func(c *gomysql.Config) { c.Passwd = "not " + password }), table, "denied", "password")
		failsAtOnce(t, db, as(func(c *gomysql.Config) { c.DBName = "nowhere" }), table, "nowhere", "database")
		failsAtOnce(t, db, db.DSN, "nowhere.leases", "nowhere", "database")
		c := parsed.Clone()
		c.DBName = "nowhere"
		failsAtOnce(t, db, c.FormatDSN(), table, "nowhere", "database")
	})
}
