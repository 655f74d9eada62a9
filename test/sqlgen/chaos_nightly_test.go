//go:build nightly

package sqlgen

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
	"github.com/snowkey-go/snowkey/schema/sqlgen"
)

// TestNightlyTogether has processes and sessions of SQL make ids in one namespace. Meanwhile
// the server is killed, and its clock is set. The functions and sequences are dropped and
// created again. Then a standby that lacks commits is promoted. No id may repeat, except in
// a second run, in which sessions enter a tick without the lock.
func TestNightlyTogether(t *testing.T) {
	layout := fourWorkers(t)
	for name, edits := range map[string][]string{"": nil, "without the lock": slices.Concat(pausing, withoutLock)} {
		t.Run(name, func(t *testing.T) {
			c := &chaos{T: t, layout: layout, store: sqlstore.Postgres, forms: []string{
				"SELECT snowkey_next()", "SELECT snowkey_next(1)", "SELECT snowkey_next(50000)", "SELECT snowkey_next() FROM generate_series(1, 300)",
			}}
			primary, process, clock := dbtest.Clocked(t, "postgres")
			primary.Since(t, 15)
			c.database.Store(&primary)
			db := primary.Connect(t)
			statements := without(t, sqlgen.Writer{Layout: layout, Window: window}, edits...)
			run(t, db, statements...)
			standby := dbtest.StandbyOf(t, primary)

			do, stop := c.start(db)
			do()
			c.kills(process, do)
			do(append(sqlgen.Writer{}.PostgresDrop(), statements...)...)
			do(append(append(sqlgen.Writer{}.PostgresDrop(), sequences), statements...)...)
			c.clocks(clock, do)
			time.Sleep(2 * time.Second)
			if err := standby.Lag(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second) // what is made meanwhile is lost
			if err := process.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := standby.Promote(); err != nil {
				t.Fatal(err)
			}
			run(t, standby.Connect(t), statements...) // the sequences may be damaged
			c.database.Store(&standby.DB)
			time.Sleep(8 * time.Second)
			repeated, workers := stop()
			if repeated > 0 != (edits != nil) {
				t.Errorf("%d ids were repeated", repeated)
			}
			if workers[3] < 1_000_000 || len(c.ids)-workers[3] < 1_000_000 {
				t.Errorf("too few ids: %v", workers)
			}
		})
	}
}

// TestNightlyMariaDBTogether is the same on MariaDB. In one run, the clock is set and the
// functions and tables are dropped. In the others, a replica that lacks commits takes over. Ids
// repeat if sessions use the number to which they have raised the counter.
func TestNightlyMariaDBTogether(t *testing.T) {
	layout := fourWorkers(t)
	w := sqlgen.Writer{Layout: layout, Window: window}
	for _, tt := range []struct {
		name   string
		failed bool
		edits  []string
	}{{"clock", false, nil}, {"replica", true, nil}, {"replica, and numbers are not drawn again", true, ofMariaDB.keepsRaised}} {
		t.Run(tt.name, func(t *testing.T) {
			c := &chaos{T: t, layout: layout, store: sqlstore.MySQL, forms: []string{
				"INSERT INTO `rows` (v) VALUES (1) RETURNING id", "INSERT INTO `rows` (v) VALUES (1), (2), (3) RETURNING id", "INSERT INTO `rows` (v) SELECT seq FROM seq_1_to_10000 RETURNING id",
			}}
			var primary, replica dbtest.DB
			var process *dbtest.Process
			var clock *dbtest.Clock
			lag := func() {}
			mariaDB(t)
			if tt.failed {
				primary, process = dbtest.Killable(t, "mysql", "log-bin=log", "server-id=1", "sync-binlog=1")
				replica, lag = replicaOf(t, primary)
			} else {
				primary, process, clock = dbtest.Clocked(t, "mysql")
			}
			c.database.Store(&primary)
			db := primary.Connect(t)
			statements := onMariaDB(t, w, tt.edits...)
			run(t, db, statements...)
			run(t, db, "CREATE TABLE `rows` (id BIGINT NOT NULL DEFAULT 0, v INT, KEY (id))", w.MySQLTrigger("rows", "id"))
			do, stop := c.start(db)
			do()
			c.kills(process, do)
			if tt.failed {
				time.Sleep(2 * time.Second)
				lag()
				time.Sleep(2 * time.Second) // what is made meanwhile is lost
				if err := process.Kill(); err != nil {
					t.Fatal(err)
				}
				c.database.Store(&replica)
				time.Sleep(8 * time.Second)
			} else {
				do(append(w.MariaDBDrop(), statements...)...)
				do(append(append(w.MariaDBDrop(), "DROP TABLE snowkey_next_counter, snowkey_next_history", "DROP SEQUENCE snowkey_next_sessions"), statements...)...)
				c.clocks(clock, do)
			}
			repeated, workers := stop()
			if repeated > 0 != (tt.edits != nil) {
				t.Errorf("%d ids were repeated", repeated)
			}
			if workers[3] < 100_000 || len(c.ids)-workers[3] < 1_000_000 {
				t.Errorf("too few ids: %v", workers)
			}
		})
	}
}

// TestNightlyMySQLTogether is the same on MySQL, without a replica. Ids repeat if sessions use
// the number to which they have raised the counter.
func TestNightlyMySQLTogether(t *testing.T) {
	layout := fourWorkers(t)
	w := sqlgen.Writer{Layout: layout, Window: window}
	for name, edits := range map[string][]string{"": nil, "numbers are not drawn again": ofMySQL.keepsRaised} {
		t.Run(name, func(t *testing.T) {
			mySQL(t)
			c := &chaos{T: t, layout: layout, store: sqlstore.MySQL, forms: []string{"SELECT snowkey_next()", many(3, "snowkey_next()"), many(900, "snowkey_next()")}}
			primary, process, clock := dbtest.Clocked(t, "mysql")
			c.database.Store(&primary)
			db := primary.Connect(t)
			statements := onMySQL(t, w, edits...)
			run(t, db, statements...)
			do, stop := c.start(db)
			do()
			c.kills(process, do)
			do(append(w.MySQLDrop(), statements...)...)
			do(append(append(w.MySQLDrop(), "DROP TABLE snowkey_next_counter, snowkey_next_history"), statements...)...)
			c.clocks(clock, do)
			repeated, workers := stop()
			if repeated > 0 != (edits != nil) {
				t.Errorf("%d ids were repeated", repeated)
			}
			if workers[3] < 10_000 || len(c.ids)-workers[3] < 1_000_000 {
				t.Errorf("too few ids: %v", workers)
			}
		})
	}
}

const window = 2 * time.Second

// fourWorkers is a layout in which SQL has the worker number 3.
func fourWorkers(t *testing.T) idgen.Layout {
	t.Helper()
	layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, idgen.Time(41), idgen.Worker(2), idgen.Sequence(12))
	if err != nil {
		t.Fatal(err)
	}
	return layout
}

type chaos struct {
	*testing.T
	layout   idgen.Layout
	store    func(*sql.DB) *sqlstore.Store
	forms    []string
	database atomic.Pointer[dbtest.DB] // that accepts writes

	mu     sync.Mutex
	ids    []int64
	errors int
	err    error
}

// start begins to make ids. It returns a function that executes statements once the server
// accepts them, and one that ends everything and counts the ids.
func (c *chaos) start(db *sql.DB) (do func(what ...string), stop func() (repeated int, workers map[int64]int)) {
	ctx, cancel := context.WithCancel(c.Context())
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() { c.leases(ctx) })
	}
	for i := range 4 {
		wait.Go(func() { c.inserts(ctx, i) })
	}
	do = func(what ...string) {
		for _, s := range what {
			for {
				if _, err := db.ExecContext(ctx, s); err == nil {
					break
				} else if ctx.Err() != nil {
					c.Fatal(err)
				}
				time.Sleep(50 * time.Millisecond)
			}
		}
		time.Sleep(4 * time.Second)
	}
	return do, func() (int, map[int64]int) {
		cancel()
		wait.Wait()
		n, workers := len(c.ids), make(map[int64]int)
		for _, id := range c.ids {
			workers[c.layout.Decode(id).Worker]++
		}
		slices.Sort(c.ids)
		repeated := n - len(slices.Compact(slices.Clone(c.ids)))
		c.Logf("%d ids, %d of them repeated; by worker: %v; %d errors, such as %v", n, repeated, workers, c.errors, c.err)
		return repeated, workers
	}
}

// kills kills the server and starts it again, twice.
func (c *chaos) kills(process *dbtest.Process, do func(what ...string)) {
	for range 2 {
		if err := process.Kill(); err != nil {
			c.Fatal(err)
		}
		if err := process.Start(); err != nil {
			c.Fatal(err)
		}
		do()
	}
}

// clocks sets the server's clock back, ahead and right again.
func (c *chaos) clocks(clock *dbtest.Clock, do func(what ...string)) {
	for _, by := range []time.Duration{-800 * time.Millisecond, 5 * time.Second, 0} {
		if err := clock.Set(by); err != nil {
			c.Fatal(err)
		}
		do()
	}
}

func (c *chaos) add(ids []int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.errors++
		c.err = err
		time.Sleep(10 * time.Millisecond)
		return
	}
	c.ids = append(c.ids, ids...)
}

// leases makes ids as a process does, one process after another.
func (c *chaos) leases(ctx context.Context) {
	for ctx.Err() == nil {
		at := *c.database.Load()
		c.add(c.lease(ctx, at))
	}
}

func (c *chaos) lease(ctx context.Context, at dbtest.DB) (ids []int64, err error) {
	db, err := sql.Open(at.Driver, at.DSN)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	opening, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	pool, err := snowkey.Open(opening, c.store(db), snowkey.Config{Layout: c.layout, Window: window})
	if err != nil {
		return nil, err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = pool.Close(closing) // the server may be down
	}()
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for range 100 {
			id, err := pool.Next(ctx)
			if err != nil {
				return ids, nil
			}
			ids = append(ids, id)
		}
		if ids, err = pool.Append(ctx, ids, 4000); err != nil {
			break
		}
	}
	return ids, nil
}

// inserts makes ids in SQL. An id counts when its transaction has committed.
func (c *chaos) inserts(ctx context.Context, i int) {
	for ctx.Err() == nil {
		at := *c.database.Load()
		db, err := sql.Open(at.Driver, at.DSN)
		if err != nil {
			c.add(nil, err)
			continue
		}
		db.SetMaxOpenConns(1)
		for k := 0; err == nil && ctx.Err() == nil && *c.database.Load() == at; k++ {
			var ids []int64
			ids, err = commit(ctx, db, c.forms[(i+k)%len(c.forms)])
			c.add(ids, err)
			time.Sleep(time.Millisecond)
		}
		db.Close()
	}
}

func commit(ctx context.Context, db *sql.DB, text string) (ids []int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	rows, err := tx.QueryContext(ctx, text)
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return ids, tx.Commit()
}
