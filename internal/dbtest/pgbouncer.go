package dbtest

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// ThroughPgBouncer returns a Postgres database whose DSN connects through a new
// PgBouncer. The pool mode must be "session", "transaction" or "statement", and all
// other settings are the defaults.
//
// Note that PgBouncer doesn't support prepared statements before version 1.21, so with
// older versions, pgx needs default_query_exec_mode=exec or simple_protocol in the DSN.
func (db DB) ThroughPgBouncer(t TB, mode string) DB {
	t.Helper()
	cfg, err := pgconn.ParseConfig(db.DSN)
	if err != nil {
		t.Fatalf("dbtest: %v", errBadPostgresDSN)
	}
	alias := "bounced_" + strings.ToLower(rand.Text()[:12])
	db.DSN = forwarder{
		program: "pgbouncer", pack: "pgbouncer", version: "--version", quit: "KILL",
		config: func(_ string, port int) string { return bouncerConfig(cfg, alias, mode, port) },
		dsn: func(port int) string {
			// We disable TLS, because each client would first open a connection only to
			// see it refused, and there are no more than 100 connections.
			return fmt.Sprintf("postgres://any@127.0.0.1:%d/%s?sslmode=disable&default_query_exec_mode=exec", port, alias)
		},
	}.start(t, postgres)
	t.Logf("PgBouncer in %s mode", mode)
	db.DSN, _, _ = strings.Cut(db.DSN, "&")
	return db
}

// bouncerConfig returns the configuration of a PgBouncer that maps every user to the
// user of cfg.
func bouncerConfig(cfg *pgconn.Config, alias, mode string, port int) string {
	var target strings.Builder
	for _, pair := range [][2]string{
		{"host", cfg.Host}, {"port", strconv.Itoa(int(cfg.Port))}, {"dbname", cfg.Database}, {"user", cfg.User}, {"password", cfg.Password},
	} {
		if pair[1] != "" { // PgBouncer rejects empty values
			fmt.Fprintf(&target, " %s='%s'", pair[0], strings.ReplaceAll(pair[1], "'", "''"))
		}
	}
	return fmt.Sprintf(`[databases]
%s =%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = %s`, alias, target.String(), port, mode)
}
