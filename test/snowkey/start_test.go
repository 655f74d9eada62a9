package snowkey_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// 64 processes start at once on an empty database, each on connections of its
// own. None sees an error of two that meet, and all have a worker of their own.
func TestSixtyFourFirstStarts(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		const n = 64
		var wg sync.WaitGroup
		pools := make([]*idgen.Pool, n)
		began := time.Now()
		for i := range n {
			conn := db.Connect(t)
			conn.SetMaxOpenConns(1)
			store := sqlstore.SQLite(conn)
			switch db.Dialect {
			case "postgres":
				store = sqlstore.Postgres(conn)
			case "mysql":
				store = sqlstore.MySQL(conn)
			}
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
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
