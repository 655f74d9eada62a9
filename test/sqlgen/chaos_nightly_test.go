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
	"github.com/snowkey-go/snowkey/internal/sqlgen"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// TestNightlyTogether has processes and sessions of SQL make ids in one namespace. Meanwhile
// the server is killed. Then its clock is set, and the functions with their sequences and
// tables are dropped and created again, unless it has a replica that lacks commits and takes
// over in the end. No id may repeat.
func TestNightlyTogether(t *testing.T) {
	layout := dbtest.Must(idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, idgen.Time(41), idgen.Worker(2), idgen.Sequence(12)))(t)
	w := sqlgen.Writer{Layout: layout, Window: window} // which has the worker number 3
	for _, tt := range []struct {
		name           string
		open           func(*testing.T) dbtest.DB // skips the test without such a server
		store          func(*sql.DB) *sqlstore.Store
		on             statements
		functions, all []string // drop them
		forms          []string
		replica        bool // takes over
	}{
		{"PostgreSQL", postgreSQL, sqlstore.Postgres, without, w.PostgresDrop(), []string{sequences}, []string{
			"SELECT snowkey_next()", "SELECT snowkey_next(1)", "SELECT snowkey_next(50000)", "SELECT snowkey_next() FROM generate_series(1, 300)",
		}, true},
		{"MariaDB", mariaDB, sqlstore.MySQL, onMariaDB, w.MariaDBDrop(), ofMariaDB.all, ofRows, false},
		{"MariaDB, replica", mariaDB, sqlstore.MySQL, onMariaDB, nil, nil, ofRows, true},
		{"MySQL", mySQL, sqlstore.MySQL, onMySQL, w.MySQLDrop(), ofMySQL.all, []string{
			"SELECT snowkey_next()", many(3, "snowkey_next()"), many(900, "snowkey_next()"),
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &chaos{T: t, layout: layout, store: tt.store, forms: tt.forms}
			primary := tt.open(t)
			var process *dbtest.Process
			if tt.functions != nil {
				primary, process = dbtest.Clocked(t, primary.Dialect)
			} else {
				primary, process = dbtest.Killable(t, "mysql", "log-bin=log", "server-id=1", "sync-binlog=1")
			}
			c.database.Store(&primary)
			replica, lag, promote := dbtest.DB{}, func() {}, func() {}
			db := primary.Connect(t)
			statements := tt.on(t, w)
			if tt.replica && primary.Dialect == "mysql" {
				replica, lag = replicaOf(t, primary)
			}
			dbtest.Exec(t, db, statements...)
			if tt.forms[0] == ofRows[0] {
				dbtest.Exec(t, db, "CREATE TABLE `rows` (id BIGINT NOT NULL DEFAULT 0, v INT, KEY (id))", w.MySQLTrigger("rows", "id"))
			}
			if tt.replica && primary.Dialect == "postgres" {
				standby := dbtest.StandbyOf(t, primary)
				replica = standby.DB
				lag = func() {
					dbtest.NoError(t, standby.Lag())
				}
				promote = func() {
					dbtest.NoError(t, standby.Promote())
					dbtest.Exec(t, standby.Connect(t), statements...) // the sequences may be damaged
				}
			}

			do, stop := c.start(db)
			do()
			c.kills(process, do)
			if tt.functions != nil {
				do(append(tt.functions, statements...)...)
				do(slices.Concat(tt.functions, tt.all, statements)...)
				c.clocks(process, do)
			}
			if tt.replica {
				time.Sleep(2 * time.Second)
				lag()
				time.Sleep(2 * time.Second) // what is made meanwhile is lost
				dbtest.NoError(t, process.Kill())
				promote()
				c.database.Store(&replica)
				time.Sleep(8 * time.Second)
			}
			repeated, workers := stop()
			if repeated > 0 {
				t.Errorf("%d ids were repeated", repeated)
			}
			if workers[3] == 0 || len(c.ids) == workers[3] {
				t.Errorf("too few ids: %v", workers)
			}
		})
	}
}

// ofRows are statements for a table that has the trigger.
var ofRows = []string{
	"INSERT INTO `rows` (v) VALUES (1) RETURNING id", "INSERT INTO `rows` (v) VALUES (1), (2), (3) RETURNING id", "INSERT INTO `rows` (v) SELECT seq FROM seq_1_to_10000 RETURNING id",
}

const window = 2 * time.Second

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
		dbtest.NoError(c, process.Kill())
		dbtest.NoError(c, process.Start())
		do()
	}
}

// clocks sets the server's clock back, ahead and right again.
func (c *chaos) clocks(process *dbtest.Process, do func(what ...string)) {
	for _, by := range []time.Duration{-800 * time.Millisecond, 5 * time.Second, 0} {
		dbtest.NoError(c, process.SetClock(by))
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
