package autoinc_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/test/internal/catalogtest"
)

// owner returns a Postgres database whose owner isn't a superuser.
func owner(t *testing.T) dbtest.DB {
	t.Helper()
	db, conn := one(t, "postgres")
	role := fmt.Sprintf("owner_%d", rand.Uint32())
	dbtest.Exec(t, conn, "CREATE ROLE "+role+" LOGIN PASSWORD 'owner'", "GRANT ALL ON SCHEMA public TO "+role)
	t.Cleanup(func() { dbtest.Exec(t, conn, "DROP OWNED BY "+role, "DROP ROLE "+role) })
	return catalogtest.As(t, simple(db), role, "owner")
}

// simple returns a database of Postgres without prepared statements, which fail once when a
// type changes.
func simple(db dbtest.DB) dbtest.DB {
	return db.With("default_query_exec_mode=simple_protocol")
}

// again matches errors of MySQL and MariaDB after which, as our docs say, clients try again.
var again = regexp.MustCompile(`Error (1213|1412|1615|1146 .*snowkey_new_.*) `)

// clients are writers running in the background.
type clients struct {
	stop    func()
	mu      sync.Mutex
	errors  map[string]int
	writes  int
	longest time.Duration
}

// write starts one client for each of the functions, which it keeps calling in
// transactions until stop is called.
func write(t *testing.T, conn *sql.DB, functions ...func(tx *sql.Tx) error) *clients {
	var each []func() error
	for _, f := range functions {
		each = append(each, func() error { return inTx(conn, f) })
	}
	return repeat(t, 30*time.Millisecond, each...)
}

func inTx(conn *sql.DB, f func(tx *sql.Tx) error) error {
	tx, err := conn.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// repeat keeps calling each of the functions until stop is called. The pause between calls
// is random, and longer on a slow machine.
func repeat(t *testing.T, pause time.Duration, functions ...func() error) *clients {
	c := &clients{errors: make(map[string]int)}
	done := make(chan struct{})
	var group sync.WaitGroup
	for _, f := range functions {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				began := time.Now()
				err := f()
				took := time.Since(began)
				c.mu.Lock()
				c.writes++
				c.longest = max(c.longest, took)
				if err != nil && !again.MatchString(err.Error()) {
					c.errors[err.Error()]++
				}
				c.mu.Unlock()
				if pause > 0 { // on a slow machine too, the tables must sometimes be free
					time.Sleep(max(2*took, rand.N(pause)))
				}
			}
		})
	}
	c.stop = sync.OnceFunc(func() { close(done); group.Wait() })
	t.Cleanup(c.stop)
	return c
}

// count returns how often the functions were called.
func (c *clients) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writes
}

// wait waits until the functions were called n times.
func (c *clients) wait(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); c.count() < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d writes in a minute", c.count(), n)
		}
	}
}

func inTurn(statements ...string) func(tx *sql.Tx) error {
	return func(tx *sql.Tx) error {
		for _, statement := range statements {
			if _, err := tx.Exec(statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
			time.Sleep(time.Millisecond)
		}
		return nil
	}
}

// Even if a reader keeps its lock for a long time, writers must be able to continue.
// Since they queue behind any statement of Apply that is waiting for the reader's lock,
// such a statement has to give up soon. Apply says who has the lock.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	for _, dialect := range dbtest.Servers(t) { // in SQLite, readers don't hinder writers
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			var conn *sql.DB
			key, some := "INT AUTO_INCREMENT PRIMARY KEY", "INSERT INTO users () VALUES ()"
			if dialect == "postgres" {
				conn, key, some = owner(t).Connect(t), "serial PRIMARY KEY", "INSERT INTO users DEFAULT VALUES"
			} else {
				conn = open(t, dialect).Connect(t)
			}
			dbtest.Exec(t, conn, "CREATE TABLE users (id "+key+")", "CREATE TABLE orders (id "+key+", user_id int NOT NULL, FOREIGN KEY (user_id) REFERENCES users (id))",
				some, some, "INSERT INTO orders (user_id) VALUES (1), (2)", "CREATE TABLE other (n int)")
			p := plan(t, conn, autoinc.PlanOptions{Online: true})
			session := dbtest.Must(conn.Conn(t.Context()))(t) // which stays open after the transaction
			defer session.Close()
			reader := dbtest.Must(session.BeginTx(t.Context(), nil))(t)
			defer reader.Rollback()
			var n int
			dbtest.NoError(t, reader.QueryRow("SELECT count(*) FROM orders JOIN users ON users.id = user_id").Scan(&n))
			c := write(t, conn, inTurn(some), inTurn("INSERT INTO orders (user_id) VALUES (1)"), inTurn("UPDATE orders SET user_id = 2 WHERE id = 1"))
			beside := write(t, conn, inTurn("INSERT INTO other VALUES (1)")) // tells us how slow the machine is
			c.wait(t, 250)                                                   // Apply only names transactions that are older than a second
			// The reader ends when Apply knows who it is, and 100 rows were written meanwhile. If
			// Apply kept waiting, no event would come. If it didn't see that the reader has
			// ended, it would wait for longer than a minute.
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			retried := 0
			release := sync.OnceFunc(func() {
				written := c.count()
				go func() {
					for c.count() < written+100 && ctx.Err() == nil {
						time.Sleep(time.Millisecond)
					}
					_ = reader.Rollback()
				}()
			})
			_, err := autoinc.Apply(ctx, conn, p, autoinc.ApplyOptions{Progress: func(p autoinc.Progress) {
				if p.Event != autoinc.Retried {
					return
				}
				if retried++; strings.Contains(p.Err.Error(), "it waits for the process ") {
					release()
				}
			}})
			c.stop()
			beside.stop()
			if err != nil || retried == 0 {
				t.Fatalf("%d retries: %v", retried, err)
			}
			if c.longest > 3*time.Second+beside.longest || len(c.errors) > 0 { // a statement waits for 0.1 s
				t.Errorf("the longest write took %v, and %v to another table: %v", c.longest, beside.longest, c.errors)
			}
		})
	}
}

// Apply has to lock tables that are locked by their writers in either order. None of
// the application's statements may fail because of this, even though the owner of the
// tables isn't allowed to set deadlock_timeout.
func TestNoDeadlocks(t *testing.T) {
	t.Parallel()
	for _, online := range []bool{false, true} {
		t.Run(fmt.Sprintf("online=%t", online), func(t *testing.T) {
			t.Parallel()
			conn := owner(t).Connect(t)
			dbtest.Exec(t, conn, "CREATE TABLE users (id serial PRIMARY KEY, seen int)",
				"CREATE TABLE orders (id serial PRIMARY KEY, user_id int NOT NULL REFERENCES users ON DELETE CASCADE, total int)",
				"CREATE TABLE line (id serial PRIMARY KEY, order_id int NOT NULL REFERENCES orders ON DELETE CASCADE, user_id int REFERENCES users)",
				"INSERT INTO users SELECT nextval('users_id_seq') FROM generate_series(1, 1000)", "INSERT INTO orders (user_id) SELECT id FROM users",
				"INSERT INTO line (order_id) SELECT id FROM orders")
			p := plan(t, conn, autoinc.PlanOptions{Online: online})
			const user, order, line = "UPDATE users SET seen = 1 WHERE id = %[1]d", "UPDATE orders SET total = 1 WHERE id = %[1]d", "INSERT INTO line (order_id, user_id) VALUES (%[1]d, 900)"
			var functions []func(tx *sql.Tx) error
			for i, statements := range [][]string{{user, order, line}, {line, order, user}, {order, user, line}, {line, user, order}, {user, line}, {order, line}} {
				var own []string
				for _, statement := range statements {
					own = append(own, fmt.Sprintf(statement, i+1)) // each client has its own rows, so that they don't wait for each other
				}
				functions = append(functions, inTurn(own...))
			}
			c := write(t, conn, functions...)
			c.wait(t, len(functions))
			dbtest.Must(autoinc.Apply(t.Context(), conn, p, autoinc.ApplyOptions{}))(t)
			dbtest.NoError(t, autoinc.Undo(t.Context(), conn, p, autoinc.ApplyOptions{}))
			c.stop()
			if len(c.errors) > 0 {
				t.Errorf("the writers' statements failed: %v", c.errors)
			}
		})
	}
}

// Writers wait for the rows of a batch, so batches that take long become smaller.
func TestBatchesOfSlowRows(t *testing.T) {
	t.Parallel()
	one(t, "postgres")
	conn := owner(t).Connect(t)
	dbtest.Exec(t, conn, "CREATE FUNCTION slow(text) RETURNS boolean LANGUAGE sql AS 'SELECT pg_sleep(0.01) IS NOT NULL'",
		"CREATE TABLE users (id serial PRIMARY KEY, name text CHECK (slow(name)))", "ALTER TABLE users ALTER name SET STORAGE PLAIN",
		"INSERT INTO users (name) SELECT repeat('n', 3000) FROM generate_series(1, 100)", "ANALYZE users") // two rows in a block
	p := plan(t, conn, autoinc.PlanOptions{Online: true})
	var batches []int64
	last := int64(0)
	dbtest.Must(autoinc.Apply(t.Context(), conn, p, autoinc.ApplyOptions{BatchSize: 40, Progress: func(p autoinc.Progress) {
		if p.Event == autoinc.Filled {
			batches, last = append(batches, p.Done-last), p.Done
		}
	}}))(t)
	if len(batches) < 3 || batches[0] != 20 || batches[1] != 10 || batches[2] != 5 {
		t.Errorf("batches of slow rows have %d blocks", batches)
	}
}

// Online, the counter is dropped while rows with keys are written, also on MySQL, which would
// copy the table. Rows without a key are refused all the time, even if sql_mode isn't strict.
func TestDropOnline(t *testing.T) {
	t.Parallel()
	conn := open(t, "mysql").Connect(t)
	dbtest.Exec(t, conn, "CREATE TABLE users (id INT AUTO_INCREMENT PRIMARY KEY, boss INT, FOREIGN KEY (boss) REFERENCES users (id))",
		"CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, user_id INT NOT NULL, FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE)",
		"INSERT INTO users (boss) VALUES (NULL), (1), (2)", "INSERT INTO orders (user_id) VALUES (1), (2), (3)")
	p := plan(t, conn, autoinc.PlanOptions{Online: true})
	for _, s := range p.Phases[4].Steps {
		if strings.Contains(s.SQL, "LOCK=SHARED") {
			t.Errorf("writers wait for %s: %s", s.ID, s.SQL)
		}
	}
	loose := dbtest.Must(conn.Conn(t.Context()))(t)
	defer loose.Close()
	dbtest.Must(loose.ExecContext(t.Context(), "SET sql_mode = ''"))(t)
	key, last := int64(7_350_000_000_000_000_000), ""
	applyAll(t, conn, p, autoinc.ApplyOptions{Progress: func(e autoinc.Progress) {
		if e.Phase != autoinc.Drop || e.Event != autoinc.Began {
			return
		}
		key, last = key+2, e.Step.ID
		dbtest.Exec(t, conn, fmt.Sprintf("INSERT INTO users VALUES (%d, 1), (%d, 2)", key, key+1),
			fmt.Sprintf("INSERT INTO orders VALUES (%d, %[1]d), (%d, %[2]d)", key, key+1), fmt.Sprintf("DELETE FROM users WHERE id = %d", key))
		for _, without := range []string{"INSERT INTO users (boss) VALUES (1)", "INSERT INTO orders (user_id) VALUES (1)"} {
			if _, err := loose.ExecContext(t.Context(), without); err == nil || !strings.Contains(err.Error(), "snowkey: ") {
				t.Errorf("before %s, %s: %v", last, without, err)
			}
		}
	}})
	rows := 3 + int(key-7_350_000_000_000_000_000)/2
	requireNumber(t, conn, rows, "SELECT COUNT(*) FROM users")
	requireNumber(t, conn, rows, "SELECT COUNT(*) FROM orders JOIN users ON users.id = user_id")
	prove(t, conn, p)
}

// The proof of a copy must notice values that two rows have exchanged.
func TestExchangedValues(t *testing.T) {
	t.Parallel()
	conn := open(t, "mysql").Connect(t)
	dbtest.Exec(t, conn, "CREATE TABLE users (id INT AUTO_INCREMENT PRIMARY KEY, name varchar(9))", "INSERT INTO users (name) VALUES ('a'), ('b'), (NULL)")
	p := plan(t, conn, autoinc.PlanOptions{Online: true})
	exchanged := false
	_, err := autoinc.Apply(t.Context(), conn, p, autoinc.ApplyOptions{Progress: func(p autoinc.Progress) {
		if p.Event == autoinc.Filled {
			exchanged = true
			dbtest.Exec(t, conn, "UPDATE snowkey_new_users SET name = CASE id WHEN 1 THEN 'b' ELSE 'a' END WHERE id < 3")
		}
	}})
	if refused := err != nil && strings.Contains(err.Error(), "has the same rows"); refused != exchanged {
		t.Errorf("exchanged=%t: %v", exchanged, err)
	}
}
