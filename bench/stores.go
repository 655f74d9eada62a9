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
	"slices"
	"strings"
	"sync/atomic"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/go-zookeeper/zk"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dbtest/cluster"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/etcdstore"
	"github.com/snowkey-go/snowkey/lease/filestore"
	"github.com/snowkey-go/snowkey/lease/redisstore"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
	"github.com/snowkey-go/snowkey/lease/zkstore"
)

// A storeKind is a line of the table that helps to choose a store.
type storeKind struct {
	name  string
	start func(owner *servers) (storeServer, error)
}

// A storeServer is a running store.
type storeServer struct {
	version   string
	addresses []string // of the servers to which proxies lead

	// open returns a store for one process. Each address is that of a proxy that counts
	// requests. Where there are no addresses, open counts them itself.
	open func(addresses []string, requests *atomic.Int64) (lease.Store, io.Closer, error)
}

// storeKinds are the stores that are measured in one run.
var storeKinds = []storeKind{
	{"PostgreSQL", func(o *servers) (storeServer, error) { return sqlServer(o, "postgres", sqlstore.Postgres) }},
	{"MySQL, MariaDB", func(o *servers) (storeServer, error) { return sqlServer(o, "mysql", sqlstore.MySQL) }},
	{"SQLite", func(o *servers) (storeServer, error) { return sqlServer(o, "sqlite", sqlstore.SQLite) }},
	{"files on one host", func(o *servers) (storeServer, error) {
		dir := filepath.Join(o.dir, "stores")
		return storeServer{version: "filestore", open: func(_ []string, requests *atomic.Int64) (lease.Store, io.Closer, error) {
			return countedStore{filestore.Dir(dir), requests}, nil, nil
		}}, nil
	}},
	{"etcd", etcdServer},
	{"Redis", redisServer},
	{"ZooKeeper", zooKeeperServer},
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
	s.open = func(addresses []string, requests *atomic.Int64) (lease.Store, io.Closer, error) {
		conn, err := openThrough(db, addresses)
		if err != nil {
			return nil, nil, err
		}
		conn.SetMaxOpenConns(1)
		if addresses == nil {
			return countedStore{store(conn), requests}, conn, nil
		}
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

// etcdServer starts three members. Requests are counted where the client sends them,
// because a connection of gRPC carries much that is no request.
func etcdServer(owner *servers) (s storeServer, err error) {
	defer refused("etcd", &err)
	var endpoints []string
	for _, m := range cluster.Etcd(owner, 3) {
		endpoints = append(endpoints, m.Address)
	}
	open := func(requests *atomic.Int64) (*clientv3.Client, error) {
		return clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop(), DialOptions: []grpc.DialOption{
			grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, send grpc.UnaryInvoker, opts ...grpc.CallOption) error {
				requests.Add(1)
				return send(ctx, method, req, reply, conn, opts...)
			}),
		}})
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, err := open(new(atomic.Int64))
	if err != nil {
		return s, err
	}
	defer client.Close()
	status, err := client.Status(ctx, endpoints[0])
	for (err != nil || status.Leader == 0) && ctx.Err() == nil {
		time.Sleep(50 * time.Millisecond)
		status, err = client.Status(ctx, endpoints[0])
	}
	if err != nil {
		return s, err
	}
	s.version = "etcd " + status.Version + ", 3 members"
	s.open = func(_ []string, requests *atomic.Int64) (lease.Store, io.Closer, error) {
		client, err := open(requests)
		if err != nil {
			return nil, nil, err
		}
		return etcdstore.New(client), client, nil
	}
	return s, nil
}

// redisServer starts a server that flushes each write to disk.
func redisServer(owner *servers) (s storeServer, err error) {
	defer refused("redis", &err)
	server := dbtest.Redis("--appendonly", "yes", "--appendfsync", "always").Start(owner)
	client := redis.NewClient(&redis.Options{Addr: server.Address})
	defer client.Close()
	info, err := client.Info(context.Background(), "server").Result()
	if err != nil {
		return s, err
	}
	_, s.version, _ = strings.Cut(info, "redis_version:")
	s.version, _, _ = strings.Cut("redis "+s.version, "\r")
	s.addresses = []string{server.Address}
	s.open = func(addresses []string, _ *atomic.Int64) (lease.Store, io.Closer, error) {
		client := redis.NewClient(&redis.Options{Addr: addresses[0]})
		return redisstore.New(client), client, nil
	}
	return s, nil
}

// zooKeeperServer starts an ensemble of three servers that flush each write to disk.
func zooKeeperServer(owner *servers) (s storeServer, err error) {
	defer refused("zookeeper", &err)
	ensemble := cluster.ZooKeepers(owner, 3, "-Dzookeeper.forceSync=yes")
	version, err := dbtest.ZooKeeperStatus(ensemble.Members[0].Address, "Zookeeper version: ", "-")
	if err != nil {
		return s, err
	}
	s.version = "zookeeper " + version + ", 3 servers"
	s.addresses = ensemble.Addresses()
	s.open = func(addresses []string, _ *atomic.Int64) (lease.Store, io.Closer, error) {
		conn, _, err := zk.Connect(addresses, 10*time.Second, zk.WithLogger(silent{}))
		if err != nil {
			return nil, nil, err
		}
		return zkstore.New(conn), closer(conn.Close), nil
	}
	return s, nil
}

// silent is a logger of go-zookeeper.
type silent struct{}

func (silent) Printf(string, ...any) {}

// A closer is a function that closes something, and can't fail.
type closer func()

func (c closer) Close() error { c(); return nil }

// A storePlan has the sizes of the measurement.
type storePlan struct {
	opens     int           // processes that start one after the other
	new       int           // namespaces that are created
	processes int           // processes that are watched at rest
	rest      time.Duration // how long
	cfg       snowkey.Config
}

var fullStorePlan = storePlan{opens: 50, new: 5, processes: 4, rest: time.Minute}

// measureStores measures all stores and returns the table. The starts are measured on one
// store after the other, and the requests at rest on all at once. A store that can't be
// measured has a line that says why.
func measureStores(dir string, kinds []storeKind, plan storePlan) (table sheet, err error) {
	owner := &servers{dir: dir}
	defer func() { err = errors.Join(err, owner.close()) }()
	table = sheet{
		title: "Stores",
		note: "The times are from Open to the first id, with connecting, one process at a time on a server at rest. Requests are round trips on the network, including those of connecting; " +
			"for SQLite, files and etcd they are calls. At rest, a process draws no ids.",
		columns: []string{"store", "measured", "new namespace, p50", "rows exist, p50", "p99", "requests to the first id", "requests a minute at rest"},
	}
	resting := make([][]*storeProcess, len(kinds))
	defer func() {
		for _, p := range slices.Concat(resting...) {
			err = errors.Join(err, p.close())
		}
	}()
	for i, kind := range kinds {
		s, err := kind.start(owner)
		var cells []string
		if err == nil {
			cells, err = s.measureStarts(plan)
		}
		for n := 0; err == nil && n < plan.processes; n++ {
			var p *storeProcess
			if p, _, err = s.process(plan, namespace(0)); err == nil {
				resting[i] = append(resting[i], p)
			}
		}
		if err != nil {
			table.note += fmt.Sprintf(" Not measured: %s: %.200v.", kind.name, err)
			cells = []string{"–", "–", "–", "–"}
		}
		table.rows = append(table.rows, append([]string{kind.name, s.version}, cells...))
	}
	count := func(processes []*storeProcess) (requests int64) {
		for _, p := range processes {
			requests += p.requests.Load()
		}
		return requests
	}
	before := make([]int64, len(kinds))
	for i := range kinds {
		before[i] = count(resting[i])
	}
	time.Sleep(plan.rest)
	for i := range kinds {
		cell := "–"
		if n := len(resting[i]); n == plan.processes {
			cell = fmt.Sprintf("%.1f", float64(count(resting[i])-before[i])/float64(n)/plan.rest.Minutes())
		}
		table.rows[i] = append(table.rows[i], cell)
	}
	return table, nil
}

func namespace(i int) string { return fmt.Sprint("stores ", i) }

// measureStarts returns the cells of the times to the first id, and of the requests.
func (s storeServer) measureStarts(plan storePlan) (cells []string, err error) {
	var fresh, took durations
	var requests int64
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
	return []string{
		milliseconds(fresh.within(0.5, plan.new)), milliseconds(took.within(0.5, plan.opens)), milliseconds(took.within(0.99, plan.opens)),
		each(requests, plan.opens),
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
	store, end, err := s.open(through, &p.requests)
	if err != nil {
		return p, 0, err
	}
	if end != nil {
		p.ends = append(p.ends, end)
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
