package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"sync/atomic"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/filestore"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// A storeKind is a line of the table that helps to choose a store.
type storeKind struct {
	name  string
	start func(owner *servers) (storeServer, error)
}

// A storeServer is a running store.
type storeServer struct {
	version   string
	addresses []string // of the servers; nil for files

	// open returns a store for one process. Each address is that of a proxy that counts
	// requests.
	open func(addresses []string) (lease.Store, io.Closer, error)
}

// storeKinds are the stores that are measured in one run.
var storeKinds = []storeKind{
	{"PostgreSQL", func(o *servers) (storeServer, error) { return sqlServer(o, "postgres", sqlstore.Postgres) }},
	{"MySQL, MariaDB", func(o *servers) (storeServer, error) { return sqlServer(o, "mysql", sqlstore.MySQL) }},
	{"SQLite", func(o *servers) (storeServer, error) { return sqlServer(o, "sqlite", sqlstore.SQLite) }},
	{"files on one host", func(o *servers) (storeServer, error) {
		dir := filepath.Join(o.dir, "stores")
		return storeServer{version: "filestore", open: func([]string) (lease.Store, io.Closer, error) {
			return filestore.Dir(dir), nil, nil
		}}, nil
	}},
}

// sqlServer starts a database, which flushes each commit to disk.
func sqlServer[S lease.Store](owner *servers, dialect string, store func(*sql.DB) S) (s storeServer, err error) {
	defer refused(dialect, &err)
	db := dbtest.Durable(owner, dialect)
	s.version = db.Version
	if dialect != "sqlite" {
		port, err := portOf(db)
		if err != nil {
			return s, err
		}
		s.addresses = []string{net.JoinHostPort("127.0.0.1", port)}
	}
	s.open = func(addresses []string) (lease.Store, io.Closer, error) {
		conn, err := openThrough(db, addresses)
		if err != nil {
			return nil, nil, err
		}
		conn.SetMaxOpenConns(1)
		return store(conn), conn, nil
	}
	return s, nil
}

// openThrough opens a database whose server is behind a proxy.
func openThrough(db dbtest.DB, addresses []string) (*sql.DB, error) {
	switch db.Driver {
	case "pgx":
		cfg, err := pgx.ParseConfig(db.DSN + "?sslmode=disable")
		if err != nil {
			return nil, err
		}
		cfg.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addresses[0])
		}
		return stdlib.OpenDB(*cfg), nil
	case "mysql":
		cfg, err := mysqldriver.ParseDSN(db.DSN)
		if err != nil {
			return nil, err
		}
		cfg.Net, cfg.Addr = "tcp", addresses[0]
		return sql.Open("mysql", cfg.FormatDSN())
	}
	return sql.Open(db.Driver, db.DSN)
}

// A storePlan has the sizes of the measurement.
type storePlan struct {
	opens     int           // processes that start one after the other
	new       int           // namespaces that are created
	processes int           // processes that are watched at rest
	rest      time.Duration // how long
	cfg       snowkey.Config
}

var fullStorePlan = storePlan{opens: 50, new: 5, processes: 4, rest: time.Minute}

// measureStores measures all stores and returns the table. A store that can't be started
// has a line that says why.
func measureStores(dir string, kinds []storeKind, plan storePlan) (table sheet, err error) {
	owner := &servers{dir: dir}
	defer func() { err = errors.Join(err, owner.close()) }()
	table = sheet{
		title: "Stores",
		note: "The times are from Open to the first id, with connecting, one process at a time on a server at rest. Requests are round trips on the network, including those of connecting; " +
			"for files they are calls. At rest, a process draws no ids.",
		columns: []string{"store", "measured", "new namespace, p50", "rows exist, p50", "p99", "requests to the first id", "requests a minute at rest"},
	}
	for _, kind := range kinds {
		s, err := kind.start(owner)
		var cells []string
		if err == nil {
			cells, err = s.measure(plan)
		}
		if err != nil {
			table.note += fmt.Sprintf(" Not measured: %s: %.200v.", kind.name, err)
			cells = []string{"–", "–", "–", "–", "–"}
		}
		table.rows = append(table.rows, append([]string{kind.name, s.version}, cells...))
	}
	return table, nil
}

func (s storeServer) measure(plan storePlan) (cells []string, err error) {
	var fresh, took durations
	var requests int64
	namespace := func(i int) string { return fmt.Sprint("stores ", i) }
	for i := range plan.new {
		d, _, err := s.start(plan, namespace(i))
		if err != nil {
			return nil, err
		}
		fresh = append(fresh, d)
	}
	for range plan.opens {
		d, n, err := s.start(plan, namespace(0))
		if err != nil {
			return nil, err
		}
		took = append(took, d)
		requests += n
	}
	var running []*storeProcess
	defer func() {
		for _, p := range running {
			err = errors.Join(err, p.close())
		}
	}()
	for range plan.processes {
		p, _, err := s.process(plan, namespace(0))
		if err != nil {
			return nil, err
		}
		running = append(running, p)
	}
	before := make([]int64, len(running))
	for i, p := range running {
		before[i] = p.requests.Load()
	}
	time.Sleep(plan.rest)
	var rest int64
	for i, p := range running {
		rest += p.requests.Load() - before[i]
	}
	return []string{
		milliseconds(fresh.within(0.5, plan.new)), milliseconds(took.within(0.5, plan.opens)), milliseconds(took.within(0.99, plan.opens)),
		each(requests, plan.opens), fmt.Sprintf("%.1f", float64(rest)/float64(plan.processes)/plan.rest.Minutes()),
	}, nil
}

// start starts a process, and ends it when it has an id. It returns the time to that id
// and the requests.
func (s storeServer) start(plan storePlan, namespace string) (time.Duration, int64, error) {
	p, took, err := s.process(plan, namespace)
	if err != nil {
		return 0, 0, err
	}
	n := p.requests.Load()
	return took, n, p.close()
}

// A storeProcess simulates a process, with connections of its own.
type storeProcess struct {
	keeper
	requests atomic.Int64
	ends     []io.Closer
}

func (s storeServer) process(plan storePlan, namespace string) (p *storeProcess, took time.Duration, err error) {
	p = new(storeProcess)
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	var through []string
	for _, address := range s.addresses {
		proxy, err := countRequests(address, &p.requests)
		if err != nil {
			return p, 0, err
		}
		p.ends = append(p.ends, proxy)
		through = append(through, proxy.Addr().String())
	}
	cfg := plan.cfg
	cfg.Namespace, cfg.Logger = namespace, slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	began := time.Now()
	store, end, err := s.open(through)
	if err != nil {
		return p, 0, err
	}
	if end != nil {
		p.ends = append(p.ends, end)
	}
	if s.addresses == nil {
		store = countedStore{store, &p.requests}
	}
	err = p.openOn(ctx, store, cfg)
	return p, time.Since(began), err
}

func (p *storeProcess) close() error {
	err := p.keeper.close()
	for len(p.ends) > 0 { // the proxies last
		last := len(p.ends) - 1
		err = errors.Join(err, p.ends[last].Close())
		p.ends = p.ends[:last]
	}
	return err
}

// countRequests starts a proxy that counts a request whenever the client sends something
// after the server has.
func countRequests(server string, requests *atomic.Int64) (net.Listener, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				conn, err := net.Dial("tcp", server)
				if err != nil {
					return
				}
				defer conn.Close()
				var waiting atomic.Bool // for the server
				go func() {
					defer client.Close()
					io.Copy(onWrite{client, func() { waiting.Store(false) }}, conn)
				}()
				io.Copy(onWrite{conn, func() {
					if !waiting.Swap(true) {
						requests.Add(1)
					}
				}}, client)
			}()
		}
	}()
	return listener, nil
}

// onWrite calls before before each write.
type onWrite struct {
	io.Writer
	before func()
}

func (w onWrite) Write(b []byte) (int, error) {
	w.before()
	return w.Writer.Write(b)
}

// A countedStore counts the calls that a keeper makes to lease and to renew.
type countedStore struct {
	lease.Store
	calls *atomic.Int64
}

func (s countedStore) Probe(ctx context.Context, q lease.Query) (lease.Probe, error) {
	s.calls.Add(1)
	return s.Store.Probe(ctx, q)
}

func (s countedStore) Claim(ctx context.Context, c lease.Claim) (lease.Row, bool, error) {
	s.calls.Add(1)
	return s.Store.Claim(ctx, c)
}

func (s countedStore) Renew(ctx context.Context, r lease.Renewal) (lease.Row, bool, error) {
	s.calls.Add(1)
	return s.Store.Renew(ctx, r)
}
