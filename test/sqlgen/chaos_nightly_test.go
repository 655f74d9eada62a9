//go:build nightly

package sqlgen

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/sqlgen"
)

// TestNightlyTogether has processes and sessions of SQL make ids in one namespace. Meanwhile
// the server is killed. Then its clock is set, and the functions with their sequences and
// tables are dropped and created again. Or a replica that lacks commits takes over. No id may
// repeat.
func TestNightlyTogether(t *testing.T) {
	dbtest.EachServer(t, func(t *testing.T, db dbtest.DB) {
		k := kindOf(db.Since(t, 15))
		t.Run("dropped", func(t *testing.T) {
			server, process := dbtest.Clocked(t, db.Dialect)
			c := newChaos(t, k, server)
			c.start(process)
			c.do(slices.Concat(k.drop, c.statements)...)
			c.do(slices.Concat(k.drop, k.all, c.statements)...)
			for _, by := range []time.Duration{-800 * time.Millisecond, 5 * time.Second, 0} {
				dbtest.NoError(t, process.SetClock(by))
				c.do()
			}
			c.verdict()
		})
		if db.Dialect == "mysql" && !k.mariaDB {
			return
		}
		t.Run("replica", func(t *testing.T) {
			var c *chaos
			var process *dbtest.Process
			var primary, replica dbtest.DB
			var lag func()
			promote := func() {}
			if k.mariaDB {
				primary, process = dbtest.Killable(t, "mysql", "log-bin=log", "server-id=1", "sync-binlog=1")
				replica, lag = replicaOf(t, primary)
				c = newChaos(t, k, primary)
			} else {
				primary, process = dbtest.Killable(t, "postgres")
				c = newChaos(t, k, primary)
				standby := dbtest.StandbyOf(t, primary)
				replica, lag = standby.DB, func() { dbtest.NoError(t, standby.Lag()) }
				promote = func() {
					dbtest.NoError(t, standby.Promote())
					dbtest.Exec(t, standby.Connect(t), c.statements...) // the sequences may be damaged
				}
			}
			c.start(process)
			time.Sleep(2 * time.Second)
			lag()
			time.Sleep(2 * time.Second) // what is made meanwhile is lost
			dbtest.NoError(t, process.Kill())
			promote()
			c.primary.Store(&replica)
			time.Sleep(8 * time.Second)
			c.verdict()
		})
	})
}

const window = 2 * time.Second

type chaos struct {
	*testing.T
	kind
	layout     idgen.Layout
	statements []string // that install the functions
	forms      []string // of statements that make ids
	db         *sql.DB  // of the first primary
	primary    atomic.Pointer[dbtest.DB]
	end        func()

	mu     sync.Mutex
	ids    []int64
	errors int
	err    error
}

func newChaos(t *testing.T, k kind, primary dbtest.DB) *chaos {
	t.Helper()
	layout := dbtest.Must(idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, idgen.Time(41), idgen.Worker(2), idgen.Sequence(12)))(t)
	w := sqlgen.Writer{Layout: layout, Window: window} // which has the worker number 3
	c := &chaos{T: t, kind: k, layout: layout, statements: k.on(t, w), db: primary.Connect(t)}
	c.primary.Store(&primary)
	dbtest.Exec(t, c.db, c.statements...)
	switch {
	case k.mariaDB:
		dbtest.Exec(t, c.db, "CREATE TABLE `rows` (id BIGINT NOT NULL DEFAULT 0, v INT, KEY (id))", trigger("rows"))
		c.forms = []string{
			"INSERT INTO `rows` (v) VALUES (1) RETURNING id", "INSERT INTO `rows` (v) VALUES (1), (2), (3) RETURNING id", "INSERT INTO `rows` (v) SELECT seq FROM seq_1_to_10000 RETURNING id",
		}
	case primary.Dialect == "postgres":
		c.forms = []string{"SELECT snowkey_next()", "SELECT snowkey_next(1)", "SELECT snowkey_next(50000)", "SELECT snowkey_next() FROM generate_series(1, 300)"}
	default:
		c.forms = []string{"SELECT snowkey_next()", many(3, "snowkey_next()"), many(900, "snowkey_next()")}
	}
	return c
}

// start begins to make ids, and kills the server twice.
func (c *chaos) start(process *dbtest.Process) {
	ctx, cancel := context.WithCancel(c.Context())
	var wait sync.WaitGroup
	c.end = func() { cancel(); wait.Wait() }
	for range 2 {
		wait.Go(func() {
			for ctx.Err() == nil {
				c.add(c.lease(ctx, *c.primary.Load()))
			}
		})
	}
	for i := range 4 {
		wait.Go(func() { c.inserts(ctx, i) })
	}
	c.do()
	for range 2 {
		restart(c.T, process)
		c.do()
	}
}

// do executes statements once the server accepts them, and gives them time.
func (c *chaos) do(statements ...string) {
	c.Helper()
	for _, s := range statements {
		dbtest.Await(c, s, func() bool { _, err := c.db.ExecContext(c.Context(), s); return err == nil })
	}
	time.Sleep(4 * time.Second)
}

// verdict ends everything, and fails if an id was repeated.
func (c *chaos) verdict() {
	c.Helper()
	c.end()
	slices.Sort(c.ids)
	repeated := len(c.ids) - len(slices.Compact(slices.Clone(c.ids)))
	workers := make(map[int64]int)
	for _, id := range c.ids {
		workers[c.layout.Decode(id).Worker]++
	}
	c.Logf("%d ids, %d of them repeated; by worker: %v; %d errors, such as %v", len(c.ids), repeated, workers, c.errors, c.err)
	if repeated > 0 || workers[3] == 0 || len(c.ids) == workers[3] {
		c.Error("ids were repeated, or only one side has made some")
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

// lease makes ids as a process does.
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
		at := c.primary.Load()
		db, err := sql.Open(at.Driver, at.DSN)
		if err != nil {
			c.add(nil, err)
			return
		}
		for k := 0; err == nil && ctx.Err() == nil && c.primary.Load() == at; k++ {
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
		return nil, err
	}
	return ids, tx.Commit()
}
