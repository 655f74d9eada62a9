package autoinc_test

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey/schema/autoinc"
)

// A reader holds its lock for longer than any attempt of Apply waits. Writers wait behind
// an attempt, but not behind the reader.
func TestSlowReader(t *testing.T) { slowReader(t, 2*time.Second, time.Second) }

// slowReader fails if a writer waits for longer than most, while a transaction that lasts
// for reading has read the table.
func slowReader(t *testing.T, reading, most time.Duration) {
	for _, online := range []bool{false, true} {
		t.Run(fmt.Sprintf("online=%t", online), func(t *testing.T) {
			t.Parallel()
			db, _ := one(t, "postgres")
			conn := db.Connect(t)
			conn.SetMaxOpenConns(5)
			exec(t, conn, "CREATE TABLE parent (id serial PRIMARY KEY, name text)", "CREATE TABLE child (id serial PRIMARY KEY, parent_id int REFERENCES parent)",
				"INSERT INTO parent (name) SELECT 'p' FROM generate_series(1, 100)")
			p := plan(t, conn, autoinc.PlanOptions{Online: online})
			reader, err := conn.Begin()
			if err != nil {
				t.Fatal(err)
			}
			var n int
			if err := reader.QueryRow("SELECT count(*) FROM parent").Scan(&n); err != nil {
				t.Fatal(err)
			}
			var read atomic.Bool
			time.AfterFunc(reading, func() {
				read.Store(true)
				_ = reader.Rollback()
			})

			stop := make(chan struct{})
			var wg sync.WaitGroup
			var longest atomic.Int64
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					began := time.Now()
					if _, err := conn.Exec("INSERT INTO parent (name) VALUES ('w')"); err != nil {
						t.Error(err)
					}
					if online || !read.Load() { // offline, writers wait while the table is rewritten
						longest.Store(max(longest.Load(), int64(time.Since(began))))
					}
				}
			})
			retried := 0
			_, err = autoinc.Apply(t.Context(), conn, p, autoinc.ApplyOptions{Progress: func(p autoinc.Progress) {
				if p.Event == autoinc.Retried {
					retried++
				}
			}})
			close(stop)
			wg.Wait()
			if err != nil || retried == 0 {
				t.Errorf("%d retries: %v", retried, err)
			}
			// An attempt waits for 0.1 s. The rest is what a busy machine adds.
			if stall := time.Duration(longest.Load()); stall > most {
				t.Errorf("a writer waited for %v", stall)
			} else {
				t.Logf("%d retries, the longest wait of a writer was %v", retried, stall)
			}
		})
	}
}

// Applications lock children and parents in either order while an owner who is not a
// superuser widens them. Postgres cancels no statement of theirs because of Apply.
func TestNoDeadlocksOfApplications(t *testing.T) {
	db, root := one(t, "postgres")
	role := fmt.Sprintf("owner_%d", rand.IntN(1e9))
	exec(t, root, "CREATE ROLE "+role+" LOGIN PASSWORD 'owner'", "GRANT ALL ON SCHEMA public TO "+role, "SET ROLE "+role,
		"CREATE TABLE parent (id serial PRIMARY KEY, n int NOT NULL DEFAULT 0)", "CREATE TABLE child (id serial PRIMARY KEY, parent_id int REFERENCES parent, n int NOT NULL DEFAULT 0)",
		"INSERT INTO parent SELECT FROM generate_series(1, 20)", "INSERT INTO child (parent_id) SELECT id FROM parent", "RESET ROLE")
	t.Cleanup(func() { exec(t, root, "DROP OWNED BY "+role, "DROP ROLE "+role) })
	owner := asRole(t, db.DSN, role)
	p := plan(t, owner, autoinc.PlanOptions{})
	app := db.Connect(t)
	app.SetMaxOpenConns(6)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var transactions, deadlocks atomic.Int64
	for i := range 6 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				// Each has rows of its own, so they do not lock each other out.
				id := i + 1
				statements := []string{fmt.Sprintf("UPDATE parent SET n = n + 1 WHERE id = %d", id), fmt.Sprintf("UPDATE child SET n = n + 1 WHERE parent_id = %d", id)}
				if rand.IntN(2) == 0 {
					statements[0], statements[1] = statements[1], statements[0]
				}
				err := inOrder(app, statements)
				var pg *pgconn.PgError
				switch {
				case errors.As(err, &pg) && pg.Code == "40P01":
					deadlocks.Add(1)
				case errors.As(err, &pg) && pg.Code == "0A000": // a statement that was prepared
				case err != nil:
					t.Error(err)
				}
				transactions.Add(1)
				// If both tables were in use all the time, nobody could lock both.
				time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond)
			}
		})
	}
	retried := 0
	options := autoinc.ApplyOptions{Progress: func(p autoinc.Progress) {
		if p.Event == autoinc.Retried {
			retried++
		}
	}}
	for range 3 {
		if _, err := autoinc.Apply(t.Context(), owner, p, options); err != nil {
			t.Error(err)
		}
		if err := autoinc.Undo(t.Context(), owner, p, options); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
	if n := deadlocks.Load(); n > 0 {
		t.Errorf("Postgres canceled %d of %d transactions", n, transactions.Load())
	}
	t.Logf("%d transactions, %d retries of Apply", transactions.Load(), retried)
}

// inOrder executes statements in a transaction, with time between them.
func inOrder(db *sql.DB, statements []string) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, statement := range statements {
		if _, err := tx.Exec(statement); err != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return tx.Commit()
}

// asRole connects as another role.
func asRole(t *testing.T, dsn, role string) *sql.DB {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.User, config.Password = role, "owner"
	db := stdlib.OpenDB(*config)
	t.Cleanup(func() { db.Close() })
	return db
}
