package dbtest

import (
	"database/sql"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// ThroughHAProxy returns a database whose DSN connects through a new HAProxy. It sends all
// connections to the server that accepts writes, and closes those to a server that no
// longer does. As Patroni does for HAProxy, an HTTP server answers for each server whether
// it is the primary. The database must have the same name on all of them.
func (db DB) ThroughHAProxy(t TB, others ...DB) DB {
	t.Helper()
	e, err := engineOf(db.Dialect)
	if err != nil {
		t.Fatalf("%v", err)
	}
	var servers []string
	var checks []*atomic.Int64
	for i, each := range append([]DB{db}, others...) {
		_, address, err := e.addressOf(each.DSN)
		if err != nil {
			t.Fatalf("dbtest: %v", err)
		}
		health, answered := each.isPrimary(t)
		checks = append(checks, answered)
		_, port, _ := net.SplitHostPort(health)
		servers = append(servers, fmt.Sprintf("server s%d %s port %s", i, address, port))
	}
	dsn := func(port int) string {
		through, err := e.withAddress(db.DSN, fmt.Sprint("127.0.0.1:", port))
		if err != nil {
			t.Fatalf("dbtest: %v", err)
		}
		return through
	}
	db.DSN = forwarder{
		program: "haproxy", pack: "haproxy", version: "-v", options: []string{"-db", "-f"}, quit: "KILL", dsn: dsn,
		config: func(_ string, port int) string {
			return fmt.Sprintf(`defaults
	mode tcp
	timeout connect 1s
	timeout check 10s
	timeout client 1m
	timeout server 1m
listen database
	bind 127.0.0.1:%d
	option httpchk GET /primary
	default-server check inter 100ms fall 2 rise 1 on-marked-down shutdown-sessions
	%s
`, port, strings.Join(servers, "\n\t"))
		},
	}.start(t, e)
	// HAProxy takes each server for a primary until two checks have failed.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if !slices.ContainsFunc(checks, func(n *atomic.Int64) bool { return n.Load() < 3 }) {
			return db
		}
		if time.Now().After(deadline) {
			t.Fatalf("dbtest: HAProxy has not checked its servers for a minute")
		}
	}
}

// isPrimary returns the address of an HTTP server that answers with status 200 as long as
// the server of db accepts writes, and how often it was asked.
func (db DB) isPrimary(t TB) (address string, asked *atomic.Int64) {
	t.Helper()
	query := "SELECT NOT pg_is_in_recovery()"
	if db.Dialect == "mysql" {
		query = "SELECT NOT @@read_only"
	}
	conn, err := sql.Open(db.Driver, db.DSN)
	if err != nil {
		t.Fatalf("dbtest: open %s: %v", db.Dialect, err)
	}
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
	t.Cleanup(func() { health.Close(); conn.Close() })
	return listener.Addr().String(), asked
}
