//go:build nightly

// Package many tests what happens if there are more processes than worker numbers, or if
// processes live for a fraction of a second. All processes are real, and end as real ones
// do. docs/many-processes.md has the results.
package many

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	_ "github.com/glebarez/go-sqlite"
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/filestore"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
	"github.com/snowkey-go/snowkey/service/client"
)

// An errand is what a process does: it draws an id, lives for a while, and draws another.
type errand struct {
	Dialect, Driver, DSN string
	Layout               string // defaults to DefaultLayout
	Namespace            string
	Numbers              int64  // how many worker numbers there are; 0 for all of the layout
	Files                string // the directory of the leases; "" to lease from the database
	Service              string // the URL of the id service; "" to lease
	Life                 time.Duration
	Killed               bool // ends without Close
	Patience             time.Duration
}

// A report is what a process prints.
type report struct {
	IDs   []int64
	First time.Duration // from Open to the first id, including the connection
	Error string        // why there was no id
	Lease string        // the error is a lease.TakenError
}

const errandEnv = "SNOWKEY_MANY_ERRAND"

func TestMain(m *testing.M) {
	text := os.Getenv(errandEnv)
	if text == "" {
		os.Exit(m.Run())
	}
	slog.SetDefault(slog.New(slog.DiscardHandler))
	var e errand
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		panic(err)
	}
	r, end := e.run()
	line, _ := json.Marshal(r)
	os.Stdout.Write(append(line, '\n'))
	if !e.Killed {
		end()
	}
	os.Exit(0) // without Close if the process is to be killed: nothing runs after this
}

func (e errand) run() (r report, end func()) {
	ctx, cancel := context.WithTimeout(context.Background(), e.Patience)
	defer cancel()
	began := time.Now()
	ids, end, err := e.open(ctx)
	fail := func(err error) (report, func()) {
		r.Error = err.Error()
		if taken, ok := errors.AsType[*lease.TakenError](err); ok {
			r.Lease = taken.Namespace
		}
		return r, end
	}
	if err != nil {
		return fail(err)
	}
	for i := range 2 {
		id, err := ids.Next(ctx)
		if err != nil {
			return fail(err)
		}
		r.IDs = append(r.IDs, id)
		if i == 0 {
			r.First = time.Since(began)
			time.Sleep(e.Life - time.Since(began))
		}
	}
	return r, end
}

// A drawer is a pool or a client.
type drawer interface {
	Next(context.Context) (int64, error)
	Close(context.Context) error
}

type clientDrawer struct{ *client.Client }

func (c clientDrawer) Close(context.Context) error { c.Client.Close(); return nil }

func (e errand) open(ctx context.Context) (ids drawer, end func(), err error) {
	end = func() {
		if ids != nil {
			ids.Close(context.Background())
		}
	}
	if e.Service != "" {
		c, err := client.New([]string{e.Service}, client.Config{Batch: 2})
		if err != nil {
			return nil, end, err
		}
		ids = clientDrawer{c}
		return ids, end, nil
	}
	db, err := sql.Open(e.Driver, e.DSN)
	if err != nil {
		return nil, end, err
	}
	cfg, err := e.config()
	if err != nil {
		return nil, end, err
	}
	pool, err := snowkey.Open(ctx, e.store(db), cfg)
	if err != nil {
		return nil, end, err
	}
	ids = pool
	return ids, end, nil
}

func (e errand) store(db *sql.DB) lease.Store {
	switch {
	case e.Files != "":
		return filestore.Dir(e.Files)
	case e.Dialect == "mysql":
		return sqlstore.MySQL(db)
	}
	return sqlstore.Postgres(db)
}

func (e errand) config() (cfg snowkey.Config, err error) {
	cfg.Namespace, cfg.MaxWorker = e.Namespace, max(e.Numbers-1, 0)
	if e.Layout != "" {
		cfg.Layout, err = idgen.ParseLayout(e.Layout)
	}
	return cfg, err
}

// A tally is what many processes reported.
type tally struct {
	ids        map[int64]bool
	first      []time.Duration
	duplicates int
	failed     int
	taken      int // of the failed ones, those that found no free worker number
	why        string
	took       time.Duration
}

// send runs n processes, at most at a time.
func (e errand) send(t *testing.T, n, most int) *tally {
	t.Helper()
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	sum := &tally{ids: make(map[int64]bool)}
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, most)
	began := time.Now()
	for range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), errandEnv+"="+string(text), "GORACE=atexit_sleep_ms=0", "GOMAXPROCS=1")
			out, err := cmd.Output()
			var r report
			if err == nil {
				err = json.Unmarshal(bytes.TrimSpace(out), &r)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("a process: %v: %s", err, out)
			}
			sum.add(r)
		})
	}
	wg.Wait()
	sum.took = time.Since(began)
	return sum
}

func (s *tally) add(r report) {
	if r.Error != "" {
		s.failed++
		s.why = r.Error
		if r.Lease != "" {
			s.taken++
		}
	}
	for _, id := range r.IDs {
		if s.ids[id] {
			s.duplicates++
		}
		s.ids[id] = true
	}
	if len(r.IDs) > 0 {
		s.first = append(s.first, r.First)
	}
}

// within returns the time within which a share of the processes had an id.
func (s *tally) within(share float64) time.Duration {
	if len(s.first) == 0 {
		return 0
	}
	slices.SortFunc(s.first, cmp.Compare[time.Duration])
	return s.first[min(int(share*float64(len(s.first))), len(s.first)-1)]
}

func (s *tally) String() string {
	n := len(s.first) + s.failed
	return fmt.Sprintf("%d processes in %.0f s, %d without id (%d: all numbers in use), first id p50 %.1f ms, p99 %.1f ms, %d duplicates",
		n, s.took.Seconds(), s.failed, s.taken, s.within(0.5).Seconds()*1000, s.within(0.99).Seconds()*1000, s.duplicates)
}
