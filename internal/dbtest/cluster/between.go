package cluster

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A between is a program between a client and its database.
type between struct {
	program, pack string   // its name, and the Debian and Ubuntu package
	options       []string // the last argument is the configuration file
	quit          string   // as in [dbtest.Service]
	config        func(dir, port string) string
	db            func(address string) dbtest.DB // how clients connect
}

// start runs the program until the test ends, and returns the database behind it.
func (b between) start(t dbtest.TB) dbtest.DB {
	t.Helper()
	return b.db(dbtest.Service{
		Name:     b.program,
		Programs: []string{b.program},
		Packages: b.pack,
		Account:  "postgres",
		Quit:     b.quit,
		Serve: func(paths []string, dir string, port int) []string {
			file := filepath.Join(dir, "config")
			script := `printf '%s\n' "$1" >"$0" && shift && exec "$@"`
			return slices.Concat([]string{"sh", "-c", script, file, b.config(dir, strconv.Itoa(port)), paths[0]}, b.options, []string{file})
		},
		Answers: func(ctx context.Context, address string) error {
			db := b.db(address)
			conn, err := sql.Open(db.Driver, db.DSN)
			if err != nil {
				return err
			}
			defer conn.Close()
			return conn.PingContext(ctx)
		},
	}.Start(t).Address)
}

// PgBouncer returns a Postgres database whose DSN connects through a new PgBouncer. The
// pool mode must be "session", "transaction" or "statement", and all other settings are
// the defaults.
//
// PgBouncer doesn't support prepared statements before version 1.21, so with older
// versions, pgx needs default_query_exec_mode=exec or simple_protocol in the DSN.
func PgBouncer(t dbtest.TB, db dbtest.DB, mode string) dbtest.DB {
	t.Helper()
	server := parse(t, db)
	alias := "bounced_" + strings.ToLower(rand.Text()[:12]) // which no other PgBouncer has
	through := between{
		program: "pgbouncer", pack: "pgbouncer",
		config: func(_, port string) string { return bouncerConfig(server, alias, mode, port) },
		db: func(address string) dbtest.DB {
			// Without TLS, because each client would first open a connection only to
			// see it refused, and there are no more than 100 connections.
			db.DSN = fmt.Sprintf("postgres://any@%s/%s?sslmode=disable", address, alias)
			return db.With("default_query_exec_mode=exec")
		},
	}.start(t)
	through.DSN, _, _ = strings.Cut(through.DSN, "&")
	return through
}

// bouncerConfig returns the configuration of a PgBouncer that maps every user to the
// user of server.
func bouncerConfig(server *pgconn.Config, alias, mode, port string) string {
	var target strings.Builder
	for _, pair := range [][2]string{
		{"host", server.Host}, {"port", strconv.Itoa(int(server.Port))}, {"dbname", server.Database}, {"user", server.User}, {"password", server.Password},
	} {
		if pair[1] != "" { // PgBouncer rejects empty values
			fmt.Fprintf(&target, " %s='%s'", pair[0], strings.ReplaceAll(pair[1], "'", "''"))
		}
	}
	return fmt.Sprintf(`[databases]
%s =%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = %s`, alias, target.String(), port, mode)
}

// Pgpool returns a Postgres database whose DSN connects through a new Pgpool-II. It
// sends writes to the server of db, and all reads to the standby, unless it knows a
// reason why the primary must execute one. Each of the settings is a line of
// pgpool.conf. The servers must not ask for a password.
func Pgpool(t dbtest.TB, db dbtest.DB, standby *dbtest.Standby, settings ...string) dbtest.DB {
	t.Helper()
	primary, replica, pcp := parse(t, db), parse(t, standby.DB), dbtest.FreePort(t)
	return between{
		program: "pgpool", pack: "pgpool2", options: []string{"-n", "-D", "-f"}, quit: "INT",
		config: func(dir, port string) string {
			return fmt.Sprintf(`backend_clustering_mode = 'streaming_replication'
listen_addresses = '127.0.0.1'
port = %[1]s
pcp_listen_addresses = '127.0.0.1'
pcp_port = %[2]d
socket_dir = '%[3]s'
pcp_socket_dir = '%[3]s'
wd_ipc_socket_dir = '%[3]s'
pid_file_name = '%[3]s/pid'
logdir = '%[3]s'
num_init_children = 100
max_pool = 1
backend_hostname0 = '%[4]s'
backend_port0 = %[5]d
backend_weight0 = 0
backend_hostname1 = '%[6]s'
backend_port1 = %[7]d
backend_weight1 = 1
sr_check_user = '%[8]s'
sr_check_period = 1
load_balance_mode = on
`, port, pcp, dir, primary.Host, primary.Port, replica.Host, replica.Port, primary.User) + strings.Join(settings, "\n")
		},
		db: func(address string) dbtest.DB {
			db.DSN = fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", primary.User, address, primary.Database)
			return db
		},
	}.start(t)
}

func parse(t dbtest.TB, db dbtest.DB) *pgconn.Config {
	t.Helper()
	cfg, err := pgconn.ParseConfig(db.DSN)
	if err != nil {
		t.Fatalf("dbtest: the DSN of %s is not understood", db.Version) // err may have the password
	}
	return cfg
}

// HAProxy returns a database whose DSN connects through a new HAProxy. It sends all
// connections to the server that accepts writes, and closes those to a server that no
// longer does. As Patroni does for HAProxy, an HTTP server answers for each server whether
// it is the primary. The database must have the same name on all of them.
func HAProxy(t dbtest.TB, db dbtest.DB, others ...dbtest.DB) dbtest.DB {
	t.Helper()
	var servers []string
	var checks []*atomic.Int64
	for i, each := range append([]dbtest.DB{db}, others...) {
		health, answered := isPrimary(t, each)
		checks = append(checks, answered)
		servers = append(servers, fmt.Sprintf("server s%d %s port %s", i, each.Address(), health))
	}
	through := between{
		program: "haproxy", pack: "haproxy", options: []string{"-db", "-f"},
		config: func(_, port string) string {
			return fmt.Sprintf(`defaults
	mode tcp
	timeout connect 1s
	timeout check 10s
	timeout client 1m
	timeout server 1m
listen database
	bind 127.0.0.1:%s
	option httpchk GET /primary
	default-server check inter 100ms fall 2 rise 1 on-marked-down shutdown-sessions
	%s
`, port, strings.Join(servers, "\n\t"))
		},
		db: func(address string) dbtest.DB { return db.At(address) },
	}.start(t)
	// HAProxy takes each server for a primary until two checks have failed.
	err := dbtest.Within(time.Minute, func() error {
		if slices.ContainsFunc(checks, func(n *atomic.Int64) bool { return n.Load() < 3 }) {
			return errors.New("dbtest: HAProxy has not checked its servers for a minute")
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return through
}

// isPrimary returns the port of an HTTP server that answers with status 200 as long as
// the server of db accepts writes, and how often it was asked.
func isPrimary(t dbtest.TB, db dbtest.DB) (port string, asked *atomic.Int64) {
	t.Helper()
	query := "SELECT NOT pg_is_in_recovery()"
	if db.Dialect == "mysql" {
		query = "SELECT NOT @@read_only"
	}
	conn := db.Connect(t)
	conn.SetMaxIdleConns(0) // an old session may outlive the server, whose processes die one by one
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("dbtest: a health check: %v", err)
	}
	asked = new(atomic.Int64)
	health := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1) // the first two have been answered when the third arrives
		var primary bool
		if err := conn.QueryRowContext(r.Context(), query).Scan(&primary); err != nil || !primary {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})}
	go health.Serve(listener)
	t.Cleanup(func() { health.Close() })
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port), asked
}
