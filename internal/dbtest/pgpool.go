package dbtest

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// ThroughPgpool returns a Postgres database whose DSN connects through a new Pgpool-II.
// It sends writes to the server of db, and reads to the standby. Each of the
// settings is a line of pgpool.conf. The servers must not ask for a password.
func (db DB) ThroughPgpool(t TB, standby *Standby, settings ...string) DB {
	t.Helper()
	primary, err := pgconn.ParseConfig(db.DSN)
	if err != nil {
		t.Fatalf("dbtest: %v", errBadPostgresDSN)
	}
	replica, err := pgconn.ParseConfig(standby.DSN)
	if err != nil {
		t.Fatalf("dbtest: %v", errBadPostgresDSN)
	}
	pcp, err := freePort()
	if err != nil {
		t.Fatalf("dbtest: no free port: %v", err)
	}
	db.DSN = forwarder{
		program: "pgpool", pack: "pgpool2", version: "--version", options: []string{"-n", "-D", "-f"}, quit: "INT",
		config: func(dir string, port int) string {
			return poolConfig(primary, replica, dir, port, pcp) + strings.Join(settings, "\n")
		},
		dsn: func(port int) string {
			return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", primary.User, port, primary.Database)
		},
	}.start(t, postgres)
	return db
}

// poolConfig returns the configuration of a Pgpool-II that sends all reads to the
// replica, unless it knows a reason why the primary must execute one.
func poolConfig(primary, replica *pgconn.Config, dir string, port, pcp int) string {
	return fmt.Sprintf(`backend_clustering_mode = 'streaming_replication'
listen_addresses = '127.0.0.1'
port = %[1]d
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
`, port, pcp, dir, primary.Host, primary.Port, replica.Host, replica.Port, primary.User)
}
