package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/filestore"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// A herd contains the numbers of processes and the durations used by the studies.
type herd struct {
	starts   []int         // how many processes start at once, with one run for each
	live     int           // how many are already running when the others start
	limit    time.Duration // for each start; a process that has no id by then has failed
	stay     time.Duration // how long all processes keep running after a start
	opens    int           // how often a single process opens on its own
	rest     time.Duration // how long we watch processes at rest
	outage   time.Duration
	running  int           // processes that run throughout the outage
	warm     time.Duration // how long they run before it begins
	workers  int           // worker numbers of the namespace that is full
	waiters  int           // processes waiting for one of them
	watch    time.Duration // how long we watch the CPU of the server
	freed    int           // how many worker numbers become free, one after another
	short    []shortLived
	patience time.Duration // how long a short-lived process waits for its worker number
	cfg      snowkey.Config
	external bool // whether to include servers named by the environment
}

// shortLived describes processes that start at a certain rate, generate an id, and end.
type shortLived struct {
	rate   int // starts per second
	closes bool
	lasts  time.Duration
}

// fullHerd returns the sizes at which the bars must be reached.
func fullHerd(starts []int) herd {
	return herd{
		starts: starts, live: 16, limit: time.Minute, stay: 5 * time.Second,
		opens: 50, rest: 30 * time.Second,
		outage: 30 * time.Second, running: 1000, warm: 15 * time.Second,
		workers: 1024, waiters: 100, watch: 20 * time.Second, freed: 8,
		short:    []shortLived{{100, true, 20 * time.Second}, {50, false, 40 * time.Second}, {80, false, 40 * time.Second}},
		patience: 5 * time.Second,
		external: true,
	}
}

// most returns the number of connections that a server must allow. It includes
// connections whose clients have ended without the server having closed them yet.
func (h herd) most() int { return max(slices.Max(h.starts)+h.live, h.running) + 300 }

// A herdTable contains the results of a herd, and the bars that were missed.
type herdTable struct {
	sheets []sheet
	bars   int
	missed []string
	errors []string // the first error of each line, to be printed in the note
}

// failures prints the number of errors, and keeps the first one for the note.
func (t *herdTable) failures(line string, errs []error) string {
	if len(errs) > 0 {
		t.errors = append(t.errors, fmt.Sprintf("The first error of %s: %s", line, strings.ReplaceAll(errs[0].Error(), "\n", "; ")))
	}
	return fmt.Sprint(len(errs))
}

// verdict judges the bars of a line.
func (t *herdTable) verdict(name string, bars ...herdBar) string {
	var missing []string
	for _, b := range bars {
		t.bars++
		if !b.met {
			missing = append(missing, b.text)
			t.missed = append(t.missed, fmt.Sprintf("  %s: %s", name, b.text))
		}
	}
	switch {
	case len(bars) == 0:
		return ""
	case len(missing) == 0:
		return met
	case len(bars) == 1:
		return missed
	}
	return missed + ": " + strings.Join(missing, ", ")
}

type herdBar struct {
	text string
	met  bool
}

func barTexts(bars []herdBar) string {
	var texts []string
	for _, b := range bars {
		texts = append(texts, b.text)
	}
	return strings.Join(texts, ", ")
}

// A herdStudy is one sheet of the table, with one or more lines for each server.
type herdStudy struct {
	title   string
	note    string
	columns []string
	files   bool // whether there are lines for SQLite and filestore as well
	measure func(h herd, s *herdServer, t *herdTable) ([][]string, error)
}

func herdStudies() []herdStudy {
	return []herdStudy{connecting, starting, opening, resting, returning, waiters, shortLives}
}

// measureHerd runs the studies whose titles contain only, and prints each of them as
// soon as it's done.
func measureHerd(w io.Writer, dir, only string, h herd) (t herdTable, err error) {
	owner := &servers{dir: dir}
	defer func() { err = errors.Join(err, owner.close()) }()
	list, notes, err := herdServers(owner, h)
	if err != nil {
		return t, err
	}
	var failed []error
	for _, study := range herdStudies() {
		if !strings.Contains(study.title, only) {
			continue
		}
		sheet := sheet{title: study.title, note: study.note, columns: study.columns}
		for _, s := range list {
			if s.listen == "" && !study.files {
				continue
			}
			fmt.Fprintf(os.Stderr, "measuring: %s, %s\n", study.title, s.name)
			rows, err := study.measure(h, s, &t)
			if err != nil {
				rows = append(rows, []string{s.name, "not measured"})
				t.failures(s.name, []error{err})
				failed = append(failed, fmt.Errorf("%s, %s: %w", study.title, s.name, err))
			}
			sheet.rows = append(sheet.rows, rows...)
			if err := s.settle(); err != nil {
				return t, fmt.Errorf("%s, %s: %w", study.title, s.name, err)
			}
		}
		for _, n := range append(t.errors, notes...) {
			sheet.note = strings.TrimPrefix(sheet.note+"\n  "+n, "\n  ")
		}
		t.errors = nil
		sheet.print(w)
		t.sheets = append(t.sheets, sheet)
	}
	fmt.Fprintf(w, "\n%s\n", summarize(t.bars, t.missed))
	return t, errors.Join(failed...)
}

// A herdServer is a store from which processes lease their worker numbers.
type herdServer struct {
	dbtest.DB
	name   string
	own    *dbtest.Process // nil if we didn't start the server ourselves
	path   string          // the directory of a filestore
	listen string          // the port that the server listens on; empty for files
	owner  *servers
	busy   bool // whether the server may still be running statements of clients that are gone
}

// herdServers starts private servers that allow enough connections, and adds the
// servers named by the environment. The notes list servers that are missing.
func herdServers(owner *servers, h herd) (list []*herdServer, notes []string, err error) {
	dialects := dbtest.Databases(owner)
	for _, dialect := range dialects {
		s, err := privateServer(owner, h, dialect)
		if err != nil {
			line, _, _ := strings.Cut(err.Error(), "\n")
			notes = append(notes, "Not measured: "+line)
			continue
		}
		list = append(list, s)
	}
	for _, dialect := range dialects {
		variable := "SNOWKEY_TEST_" + strings.ToUpper(dialect)
		if !h.external || os.Getenv(variable) == "" {
			continue
		}
		s, err := namedServer(owner, h, dialect, variable)
		if err != nil {
			return nil, nil, fmt.Errorf("the server that %s names: %w", variable, err)
		}
		list = append(list, s)
	}
	list = append(list, &herdServer{owner: owner, name: "filestore", path: filepath.Join(owner.dir, "leases")})
	return list, notes, nil
}

// privateServer starts a server that a study can kill, or creates an SQLite file.
func privateServer(owner *servers, h herd, dialect string) (s *herdServer, err error) {
	defer refused(dialect, &err)
	s = &herdServer{owner: owner}
	switch dialect {
	case "sqlite":
		s.DB = dbtest.Durable(owner, dialect)
		s.name = s.Version
		return s, nil
	case "postgres":
		s.DB, s.own = dbtest.Killable(owner, dialect, fmt.Sprintf("max_connections=%d", h.most()))
		s.DSN += "?sslmode=disable" // otherwise pgx first opens a connection just to try TLS
	default:
		// With MariaDB's default back_log, some of a thousand concurrent connects have
		// to wait a second until TCP retries.
		s.DB, s.own = dbtest.Killable(owner, dialect, fmt.Sprintf("max_connections=%d", h.most()), fmt.Sprintf("back_log=%d", h.most()))
	}
	s.name = s.Version
	s.listen, err = portOf(s.DB)
	return s, err
}

// namedServer uses the server named by an environment variable.
func namedServer(owner *servers, h herd, dialect, variable string) (s *herdServer, err error) {
	defer refused(dialect, &err)
	s = &herdServer{owner: owner, DB: dbtest.Open(owner, dialect)}
	s.name = fmt.Sprintf("%s (%s)", s.Version, variable)
	if s.listen, err = portOf(s.DB); err != nil {
		return nil, err
	}
	return s, enoughConnections(s.DB, h.most())
}

// enoughConnections returns an error if the server allows fewer than n connections.
func enoughConnections(db dbtest.DB, n int) error {
	conn, err := sql.Open(db.Driver, db.DSN)
	if err != nil {
		return err
	}
	defer conn.Close()
	query := map[string]string{
		"postgres": "SELECT setting::int FROM pg_settings WHERE name = 'max_connections'",
		"mysql":    "SELECT @@max_connections",
	}[db.Dialect]
	var most int
	if err := conn.QueryRow(query).Scan(&most); err != nil {
		return err
	}
	if most < n {
		return fmt.Errorf("max_connections is %d; the bench needs %d", most, n)
	}
	return nil
}

// settle waits until the server is idle, so that one study can't affect the next.
func (s *herdServer) settle() error {
	if !s.busy {
		return nil
	}
	s.busy = false
	if s.own != nil {
		if err := s.own.Kill(); err != nil {
			return err
		}
		return s.own.Start()
	}
	pid, err := serverPID(s.listen)
	if err != nil {
		time.Sleep(30 * time.Second)
		return nil
	}
	for range 120 {
		before, err := cpuOf(pid)
		if err != nil {
			return err
		}
		time.Sleep(time.Second)
		after, err := cpuOf(pid)
		if err != nil {
			return err
		}
		if after-before < 100*time.Millisecond {
			return nil
		}
	}
	return errors.New("the server is still busy after two minutes at rest")
}

// A keeper simulates a process. It has a pool with a single connection, over which it
// leases a worker number.
type keeper struct {
	pool  *idgen.Pool
	db    *sql.DB
	tally tally
	lost  *atomic.Int64 // number of lost leases; shared between keepers

	connected atomic.Pointer[func()] // called after each connect; initially nil
}

// store returns a store that uses its own connection.
func (k *keeper) store(s *herdServer) (lease.Store, error) {
	if s.path != "" {
		return filestore.Dir(s.path), nil
	}
	k.tally.onConnect = func() {
		if f := k.connected.Load(); f != nil {
			(*f)()
		}
	}
	db, err := countedDB(s.DB, &k.tally)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	k.db = db
	return storeOf(s.DB, db), nil
}

func storeOf(server dbtest.DB, db *sql.DB) lease.Store {
	switch server.Dialect {
	case "postgres":
		return sqlstore.Postgres(db)
	case "mysql":
		return sqlstore.MySQL(db)
	}
	return sqlstore.SQLite(db)
}

// open leases a worker number and generates the first id.
func (k *keeper) open(ctx context.Context, s *herdServer, cfg snowkey.Config) error {
	store, err := k.store(s)
	if err != nil {
		return err
	}
	return k.openOn(ctx, store, cfg)
}

func (k *keeper) openOn(ctx context.Context, store lease.Store, cfg snowkey.Config) (err error) {
	cfg.Logger = slog.New(slog.DiscardHandler)
	cfg.OnLost = func(*lease.LostError) {
		if k.lost != nil {
			k.lost.Add(1)
		}
	}
	if k.pool, err = snowkey.Open(ctx, store, cfg); err != nil {
		return err
	}
	_, err = k.pool.Next(ctx)
	return err
}

// close releases the worker number.
func (k *keeper) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var errs []error
	if k.pool != nil {
		errs = append(errs, k.pool.Close(ctx))
	}
	if k.db != nil {
		errs = append(errs, k.db.Close())
	}
	return errors.Join(errs...)
}

// closeAll closes keepers, a few at a time. An error only tells us that the server may
// be busy, because a lease that can't be released expires anyway.
func (s *herdServer) closeAll(keepers []*keeper) {
	slots := make(chan struct{}, 32)
	var wg sync.WaitGroup
	var failed atomic.Bool
	for _, k := range keepers {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if k.close() != nil {
				failed.Store(true)
			}
		})
	}
	wg.Wait()
	s.busy = s.busy || failed.Load()
}

// openAll opens n keepers, a few at a time.
func (s *herdServer) openAll(n int, limit time.Duration, cfg snowkey.Config, lost *atomic.Int64) ([]*keeper, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	keepers := make([]*keeper, n)
	errs := make([]error, n)
	slots := make(chan struct{}, 16)
	var wg sync.WaitGroup
	for i := range keepers {
		keepers[i] = &keeper{lost: lost}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = keepers[i].open(ctx, s, cfg)
		})
	}
	wg.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		s.closeAll(keepers)
		return nil, fmt.Errorf("a keeper cannot open: %w", errs[i])
	}
	return keepers, nil
}

// namespace returns the name of a new namespace.
func (s *herdServer) namespace(kind string) string {
	return fmt.Sprintf("%s %d", kind, namespaces.Add(1))
}

var namespaces atomic.Int64

// durations are the times that processes took. They are sorted when needed.
type durations []time.Duration

// within returns the time within which the given share of n processes succeeded, or 0
// if not that many did.
func (t durations) within(share float64, n int) time.Duration {
	slices.Sort(t)
	i := max(int(share*float64(n)+0.999999)-1, 0)
	if i >= len(t) {
		return 0
	}
	return t[i]
}

// text formats the result of within.
func (t durations) text(share float64, n int, limit time.Duration) string {
	if d := t.within(share, n); d > 0 {
		return milliseconds(d)
	}
	return "> " + milliseconds(limit)
}

// met reports whether 99 % of n processes succeeded within the bar.
func (t durations) met(n int, bar time.Duration) bool {
	d := t.within(0.99, n)
	return d > 0 && d <= bar
}
