// Package reuse gives tests databases that other tests have used before. On Postgres,
// creating a database takes longer than most of the tests, and emptying one does not.
package reuse

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

var (
	mu    sync.Mutex
	free  []dbtest.DB // databases of Postgres that are empty, and that no test uses
	drops []func()    // drops all of them
	ended bool
)

// Main is the TestMain of a package that uses Each or Open.
func Main(m interface{ Run() int }) {
	code := m.Run()
	ended = true
	for _, drop := range drops {
		drop()
	}
	os.Exit(code)
}

// Each runs a test on every database of the run, at the same time as other tests.
func Each[T interface {
	dbtest.TB
	Parallel()
	Run(name string, f func(T)) bool
}](t T, test func(t T, db dbtest.DB)) {
	t.Parallel()
	for _, dialect := range dbtest.Databases(t) {
		t.Run(dialect, func(t T) {
			t.Parallel()
			test(t, Open(t, dialect))
		})
	}
}

// Open returns an empty database that no other test uses until this one has ended.
func Open(t dbtest.TB, dialect string) dbtest.DB {
	t.Helper()
	if dialect != "postgres" {
		return dbtest.Open(t, dialect)
	}
	var db dbtest.DB
	mu.Lock()
	if n := len(free); n > 0 {
		db, free = free[n-1], free[:n-1]
	}
	mu.Unlock()
	if db.DSN == "" {
		db = dbtest.Open(owner{t}, dialect)
	}
	t.Cleanup(func() {
		const empty = `DO $$ DECLARE name text; BEGIN
			FOR name IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' LOOP
				EXECUTE format('DROP SCHEMA %I CASCADE', name);
			END LOOP;
			CREATE SCHEMA public;
			GRANT USAGE ON SCHEMA public TO PUBLIC;
		END $$`
		if _, err := db.Connect(t).ExecContext(context.Background(), empty); err != nil {
			t.Fatalf("reuse: empty the database: %v", err)
		}
		mu.Lock()
		free = append(free, db)
		mu.Unlock()
	})
	return db
}

// An owner is the test that has created a database, which remains until Main drops it.
type owner struct{ dbtest.TB }

func (owner) Cleanup(drop func()) {
	mu.Lock()
	defer mu.Unlock()
	drops = append(drops, drop)
}

func (o owner) Fatalf(format string, args ...any) {
	if ended {
		panic(fmt.Sprintf(format, args...))
	}
	o.TB.Fatalf(format, args...)
}
