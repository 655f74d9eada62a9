//go:build nightly

package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/test/internal/cluster"
)

// poolReads are settings of Pgpool-II with which it sends every SELECT to the standby that
// it can, even in a transaction that has written.
var poolReads = []string{"read_only_function_list = '.*'", "disable_load_balance_on_write = 'off'", "statement_level_load_balance = on"}

// behind is how far the standby is behind the primary in these tests. A claim and the next
// probe are closer together.
const behind = "recovery_min_apply_delay = '1s'"

// requireStaleReads fails unless reads go to a standby that lags.
func requireStaleReads(t *testing.T, conn *sql.DB, schema string) {
	t.Helper()
	dbtest.Exec(t, conn, "CREATE SCHEMA "+schema)
	var there bool
	if err := conn.QueryRow("SELECT to_regnamespace('" + schema + "') IS NOT NULL").Scan(&there); err != nil || there {
		t.Fatalf("reads don't go to the standby, or it doesn't lag: %v", err)
	}
}

// TestNightlyPgpool runs the suite through a Pgpool-II that sends reads to a standby which lags.
// A store that read a row there would fail it.
func TestNightlyPgpool(t *testing.T) {
	primary := dbtest.Durable(t, "postgres")
	standby := dbtest.StandbyOf(t, primary, behind)
	t.Run("defaults", func(t *testing.T) {
		db := cluster.Pgpool(t, primary, standby)
		conn := db.Connect(t)
		requireStaleReads(t, conn, "one")
		if everything(t, open(t, db, conn, "one.lease"), "defaults") {
			t.Error("the store can't tell whether commits were lost")
		}
	})
	t.Run("every read to the standby", func(t *testing.T) {
		db := cluster.Pgpool(t, primary, standby, poolReads...)
		conn := db.Connect(t)
		conn.SetMaxIdleConns(64)
		requireStaleReads(t, conn, "two")
		suite(t, db, conn)
		t.Run("sessions", func(t *testing.T) { sessions(t, db, conn) })
	})
}

// unhinted changes the statements behind a proxy that knows no hints: the comment that
// sends a statement to the primary is blank. The store then can't ask the primary whether
// its write was committed.
func unhinted(request []byte) { overwrite(request, "/*NO LOAD BALANCE*/", "") }

// unaware is like unhinted, for a store that doesn't notice that a standby has answered.
func unaware(request []byte) {
	unhinted(request)
	for _, setting := range []string{"in_hot_standby", "transaction_read_only"} {
		overwrite(request, setting, strings.Repeat("x", len(setting)))
	}
}

// The application left a transaction open, so the claim isn't committed. If a standby is
// asked, it says that no transaction is open.
func TestNightlyOpenTransactionBehindPgpool(t *testing.T) {
	primary := dbtest.Durable(t, "postgres")
	standby := dbtest.StandbyOf(t, primary)
	pooled := cluster.Pgpool(t, primary, standby, poolReads...)
	claim := free(t, open(t, primary, primary.Connect(t), "lease"))
	dbtest.NoError(t, standby.Lag())
	for _, tc := range []struct {
		name    string
		edit    func([]byte)
		refused bool // the store says that it can't tell
		wrong   bool // it says that the claim was committed, which isn't true
	}{
		{name: "as it is"},
		{name: "without hints", edit: unhinted, refused: true},
		{name: "without hints and without the check", edit: unaware, wrong: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			db, proxy := pooled.Through(t)
			if tc.edit != nil {
				proxy.Edit(tc.edit)
			}
			conn := db.With("default_query_exec_mode=exec").Connect(t)
			conn.SetMaxOpenConns(1)
			dbtest.Exec(t, conn, "BEGIN")
			_, claimed, err := open(t, db, conn, "lease").Claim(t.Context(), claim)
			var permanent *lease.PermanentError
			if refused := errors.As(err, &permanent) && strings.Contains(err.Error(), "docs/stores.md#proxies"); refused != tc.refused || err != nil && !refused {
				t.Errorf("refused: %v, want %v: %v", refused, tc.refused, err)
			}
			conn.Close()
			direct := open(t, primary, primary.Connect(t), "lease")
			row := only(t, direct)
			if wrong := claimed && row.Token != claim.Token; wrong != tc.wrong {
				t.Errorf("claimed: %v, and the token of the row is %q", claimed, row.Token)
			}
			dbtest.NoError(t, direct.Edit(t.Context(), terms, claim.Seen))
		})
	}
}

// With allow_sql_comments, Pgpool-II sends also the check of a commit to a standby. Open
// refuses that at once.
func TestNightlyPgpoolThatIgnoresComments(t *testing.T) {
	primary := dbtest.Durable(t, "postgres")
	standby := dbtest.StandbyOf(t, primary)
	claimed(t, open(t, primary, primary.Connect(t), "lease"))
	db := cluster.Pgpool(t, primary, standby, "allow_sql_comments = on")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := snowkey.Open(ctx, open(t, db, db.Connect(t), "lease"), snowkey.Config{})
	var permanent *lease.PermanentError
	if !errors.As(err, &permanent) || !strings.Contains(err.Error(), "docs/stores.md#proxies") || ctx.Err() != nil {
		t.Errorf("Open: %v", err)
	}
}

// pgBouncer returns a Postgres database whose DSN connects through a new PgBouncer with a
// pool mode. Before version 1.21, it doesn't support prepared statements, so pgx needs
// default_query_exec_mode in the DSN.
func pgBouncer(t *testing.T, mode string) dbtest.DB {
	t.Helper()
	db := dbtest.Durable(t, "postgres")
	server := dbtest.Must(pgconn.ParseConfig(db.DSN))(t)
	return db.At(dbtest.Service{
		Name: "pgbouncer", Programs: []string{"pgbouncer"}, Packages: "pgbouncer", Account: "postgres", Answers: dbtest.Listens,
		Serve: func(command []string, dir string, port int) []string {
			file := filepath.Join(dir, "config")
			return dbtest.WithFile(file, fmt.Sprintf(`[databases]
* = host=%s port=%d user=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = %s
`, server.Host, server.Port, server.User, port, mode), command[0], file)
		},
	}.Start(t).Address).With("sslmode=disable") // with TLS, each client would open a connection only to see it refused
}

// TestNightlyPgBouncer runs the suite through a pooler, which may use a different connection
// for each transaction.
func TestNightlyPgBouncer(t *testing.T) {
	for _, mode := range []string{"exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			db := pgBouncer(t, "transaction").With("default_query_exec_mode=" + mode)
			conn := db.Connect(t)
			conn.SetMaxIdleConns(64)
			suite(t, db, conn)
		})
	}
}
