//go:build nightly

package many

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/service"
)

// wide is the layout of the page: 32,768 worker numbers, 64 ids in a millisecond.
const wide = "0:2 │ time:41 × 1ms since 2026-01-01T00:00:00Z │ worker:15 │ sequence:6"

// A way is one of the answers of docs/many-processes.md.
type way struct {
	name    string
	killed  bool
	prepare func(t *testing.T, e *errand)
	starves bool // whether processes find no free worker number
}

var ways = []way{
	{name: "defaults, Close", prepare: func(*testing.T, *errand) {}},
	{name: "defaults, killed", killed: true, prepare: func(*testing.T, *errand) {}, starves: true},
	{name: "files, Close", prepare: files},
	{name: "32,768 worker numbers, killed", killed: true, prepare: func(_ *testing.T, e *errand) { e.Layout, e.Numbers = wide, 0 }},
	{name: "id service", prepare: serve},
}

// files keeps the leases in memory if there is /dev/shm, as a directory in /run does.
func files(t *testing.T, e *errand) {
	temp, err := os.MkdirTemp("/dev/shm", "many")
	if err != nil {
		temp = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(temp) })
	e.Files = filepath.Join(temp, "snowkey")
}

// serve runs the id service in this process.
func serve(t *testing.T, e *errand) {
	db, err := sql.Open(e.Driver, e.DSN)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := snowkey.Open(t.Context(), e.store(db), snowkey.Config{Namespace: e.Namespace, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := service.NewHandler(pool, service.Config{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.Close()
		pool.Close(context.Background())
		db.Close()
	})
	e.Service = server.URL
}

// TestNightlyManyProcesses runs 5,000 processes of 200 ms in each way, in a namespace of 128
// worker numbers. It prints the table of docs/many-processes.md. Set SNOWKEY_MANY to run
// another number of processes.
func TestNightlyManyProcesses(t *testing.T) {
	n := 5000
	if text := os.Getenv("SNOWKEY_MANY"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, dialect := range dbtest.Databases(t) {
		if dialect != "sqlite" {
			t.Run(dialect, func(t *testing.T) { compare(t, dialect, ways, n, 24, 128, 5*time.Second) })
		}
	}
}

// compare starts n processes in each way, at most at a time, where the namespace has a
// number of worker numbers. A process lives for 200 ms.
func compare(t *testing.T, dialect string, ways []way, n, most int, numbers int64, patience time.Duration) {
	db := dbtest.Durable(t, dialect)
	conn := db.Connect(t)
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			e := errand{Dialect: db.Dialect, Driver: db.Driver, DSN: db.DSN, Namespace: way.name, Numbers: numbers,
				Life: 200 * time.Millisecond, Killed: way.killed, Patience: patience}
			if db.Dialect == "postgres" {
				e.DSN += "?sslmode=disable" // otherwise pgx connects twice
			}
			way.prepare(t, &e)
			first := e
			first.Killed, first.Patience = false, 10*time.Second // it only creates the namespace
			if sum := first.send(t, 1, 1); sum.failed > 0 {
				t.Fatal("the first process: ", sum.why)
			}
			before := statements(t, conn, db)
			sum := e.send(t, n, most)
			used := statements(t, conn, db) - before
			started := len(sum.first) + sum.failed
			t.Logf("%s: %v, %.1f statements each", db.Version, sum, float64(used)/float64(started))
			fmt.Printf("| %s | %s | %d | %.0f | %d | %.1f ms | %.1f ms | %.1f | %d |\n", way.name, db.Version, started,
				float64(started)/sum.took.Seconds(), sum.failed, sum.within(0.5).Seconds()*1000, sum.within(0.99).Seconds()*1000,
				float64(used)/float64(started), sum.duplicates)
			if sum.duplicates > 0 {
				t.Errorf("%d ids were issued a second time", sum.duplicates)
			}
			if !way.starves && sum.failed > 0 {
				t.Errorf("%d processes got no id: %s", sum.failed, sum.why)
			}
			if way.starves && sum.taken == 0 {
				t.Errorf("no process found all worker numbers in use: %s", sum.why)
			}
		})
	}
}

// statements returns how many statements the server has executed for others. On
// PostgreSQL it counts transactions, since it has no counter of statements.
func statements(t *testing.T, conn *sql.DB, db dbtest.DB) (n int64) {
	t.Helper()
	if db.Dialect == "postgres" {
		time.Sleep(1500 * time.Millisecond) // because it reports with a delay
	}
	query := "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
	if db.Dialect == "mysql" {
		query = "SELECT CAST(VARIABLE_VALUE AS SIGNED) FROM " + map[bool]string{true: "information_schema", false: "performance_schema"}[db.MariaDB] +
			".global_status WHERE VARIABLE_NAME = 'Questions'"
	}
	if err := conn.QueryRow(query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
