//go:build nightly

package autoinc_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/autoinc"
)

// TestNightlyLarge migrates a table with ROWS rows (5,000,000) and its parents. All the
// while, clients insert, update and delete parents with their children, a reader
// repeatedly keeps its lock for 20 s, and Apply's connection is killed after 20 s, 40 s
// and so on. The figures in docs/leaving-auto-increment.md come from the log of this
// test.
func TestNightlyLarge(t *testing.T) {
	rows := dbtest.Must(strconv.Atoi(cmp.Or(os.Getenv("ROWS"), "5000000")))(t)
	for _, mode := range []struct {
		dialect string
		online  bool
	}{{"postgres", true}, {"postgres", false}, {"mysql", true}, {"mysql", false}} {
		if !slices.Contains(dbtest.Databases(t), mode.dialect) {
			continue
		}
		t.Run(fmt.Sprintf("%s online=%t", mode.dialect, mode.online), func(t *testing.T) {
			large(t, dbtest.Durable(t, mode.dialect), rows, mode.online)
		})
	}
}

func large(t *testing.T, db dbtest.DB, rows int, online bool) {
	parents := max(rows/10, 2000)
	if db.Dialect == "postgres" {
		db = simple(db)
	}
	conn := db.Connect(t)
	if db.Dialect == "postgres" {
		dbtest.Exec(t, conn, "CREATE TABLE users (id serial PRIMARY KEY, name text)",
			"CREATE TABLE orders (id serial PRIMARY KEY, user_id int NOT NULL REFERENCES users ON DELETE CASCADE, total int NOT NULL DEFAULT 0)",
			fmt.Sprintf("INSERT INTO users SELECT nextval('users_id_seq'), 'n' FROM generate_series(1, %d)", parents),
			fmt.Sprintf("INSERT INTO orders (user_id) SELECT n %% %d + 1 FROM generate_series(1, %d) n", parents, rows),
			"CREATE INDEX ON orders (user_id)", "VACUUM ANALYZE")
	} else {
		dbtest.Exec(t, conn, "CREATE TABLE users (id INT AUTO_INCREMENT PRIMARY KEY, name varchar(9))",
			"CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, user_id INT NOT NULL, total INT NOT NULL DEFAULT 0, KEY (user_id), FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE)",
			"INSERT INTO users (name) VALUES ('n')")
		for n := 1; n < parents; n *= 2 {
			dbtest.Exec(t, conn, fmt.Sprintf("INSERT INTO users (name) SELECT name FROM users LIMIT %d", parents-n))
		}
		for n := 0; n < rows; n += parents {
			dbtest.Exec(t, conn, fmt.Sprintf("INSERT INTO orders (user_id) SELECT id FROM users LIMIT %d", rows-n))
		}
	}
	p := plan(t, conn, autoinc.PlanOptions{Online: online})

	// of is a client that executes a statement for some parent, of the first or the last half.
	of := func(statement string, half int) func(tx *sql.Tx) error {
		return func(tx *sql.Tx) error {
			_, err := tx.Exec(fmt.Sprintf(statement, rand.N(parents/2)+1+half*parents/2))
			return err
		}
	}
	c := write(t, conn, inTurn("INSERT INTO users (name) VALUES ('new')"), of("DELETE FROM users WHERE id = %d", 0),
		of("INSERT INTO orders (user_id) SELECT id FROM users WHERE id = %d", 1), of("UPDATE orders SET total = total + 1 WHERE user_id = %d", 1))
	dbtest.Exec(t, conn, "CREATE TABLE other (n int)")
	beside := write(t, conn, inTurn("INSERT INTO other VALUES (1)")) // shows how slow the machine is
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	const kept = 20 * time.Second
	go read(ctx, conn, kept, 40*time.Second)
	began, kills := time.Now(), 0
	// attempt calls Apply for the phase widen and interrupts it after a while, as a
	// crash would.
	attempt := func() error {
		apply, cancel := context.WithCancel(ctx)
		defer cancel()
		timer := time.AfterFunc(time.Duration(1+kills)*20*time.Second, func() { // a little later each time, so that a long step can complete
			kills++
			if db.Dialect == "postgres" {
				killApply(t, conn, db)
			} else {
				cancel() // KILL would also end the connections of the clients
			}
		})
		defer timer.Stop()
		_, err := autoinc.Apply(apply, conn, p, autoinc.ApplyOptions{Phase: autoinc.Widen})
		return err
	}
	for err := attempt(); err != nil; err = attempt() {
		if !errors.Is(err, autoinc.ErrBusy) {
			t.Logf("after %v: %v", time.Since(began).Round(time.Second), err)
		}
		if time.Since(began) > time.Hour {
			t.Fatal("it does not come to an end")
		}
		pause(ctx, 100*time.Millisecond)
	}
	took := time.Since(began)
	c.stop()
	beside.stop()
	stop()
	applyAll(t, conn, p, autoinc.ApplyOptions{})
	prove(t, conn, p)
	if online && c.longest > kept/2 { // our bar is 0.3 s, on a machine that does nothing else
		t.Errorf("a write took %v, as if it had waited for the reader", c.longest)
	}
	requireNumber(t, conn, 0, "SELECT COUNT(*) FROM orders o LEFT JOIN users u ON u.id = o.user_id WHERE u.id IS NULL")
	t.Logf("%d rows: widen took %v with %d kills; %d writes, the longest %v, and %v to another table; failed: %v", rows+parents, took.Round(time.Second), kills, c.writes, c.longest.Round(time.Millisecond), beside.longest.Round(time.Millisecond), c.errors)
}

// TestNightlyGaps widens beside readers that keep their locks for 10 s, with gaps of 2 s.
// Apply must get each of its locks in a gap or two, and no writer may wait for long.
func TestNightlyGaps(t *testing.T) {
	t.Parallel()
	one(t, "postgres")
	conn := owner(t).Connect(t)
	dbtest.Exec(t, conn, "CREATE TABLE users (id serial PRIMARY KEY)", "CREATE TABLE orders (id serial PRIMARY KEY, user_id int NOT NULL REFERENCES users)",
		"INSERT INTO users SELECT nextval('users_id_seq') FROM generate_series(1, 100)", "INSERT INTO orders (user_id) SELECT id FROM users", "CREATE TABLE other (n int)")
	p := plan(t, conn, autoinc.PlanOptions{Online: true})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	const kept = 10 * time.Second
	go read(ctx, conn, kept, 2*time.Second)
	c := write(t, conn, inTurn("INSERT INTO users DEFAULT VALUES"), inTurn("INSERT INTO orders (user_id) VALUES (1)"))
	beside := write(t, conn, inTurn("INSERT INTO other VALUES (1)"))
	began, last := time.Now(), time.Now()
	var longest time.Duration // between the ends of two steps
	dbtest.Must(autoinc.Apply(t.Context(), conn, p, autoinc.ApplyOptions{Progress: func(p autoinc.Progress) {
		if p.Event == autoinc.Ended {
			longest, last = max(longest, time.Since(last)), time.Now()
		}
	}}))(t)
	c.stop()
	beside.stop()
	if longest > 3*time.Minute || c.longest > kept/2 || len(c.errors) > 0 {
		t.Errorf("a step took %v, and a write %v: %v", longest, c.longest, c.errors)
	}
	t.Logf("widen took %v, and its longest step %v; the longest write %v, and %v to another table", time.Since(began), longest, c.longest, beside.longest)
}

// read reads both tables again and again. It keeps its locks for a while, and then makes a
// pause.
func read(ctx context.Context, conn *sql.DB, keep, gap time.Duration) {
	for ctx.Err() == nil {
		if tx, err := conn.BeginTx(ctx, nil); err == nil {
			var n int
			_ = tx.QueryRow("SELECT count(*) FROM orders o JOIN users u ON u.id = o.user_id WHERE o.id < 9").Scan(&n)
			pause(ctx, keep)
			_ = tx.Rollback()
		}
		pause(ctx, gap)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
