package cluster

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// Pgpool returns a Postgres database whose DSN connects through a new Pgpool-II. It
// sends writes to the server of db, and all reads to the standby, unless it knows a
// reason why the primary must execute one. Each of the settings is a line of
// pgpool.conf. The servers must not ask for a password.
func Pgpool(t dbtest.TB, db dbtest.DB, standby *dbtest.Standby, settings ...string) dbtest.DB {
	t.Helper()
	primary, replica, pcp := dbtest.Must(pgconn.ParseConfig(db.DSN))(t), dbtest.Must(pgconn.ParseConfig(standby.DSN))(t), dbtest.FreePort(t)
	through := func(address string) dbtest.DB {
		db.DSN = fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", primary.User, address, primary.Database)
		return db
	}
	return through(dbtest.Service{
		Name: "pgpool", Programs: []string{"pgpool"}, Packages: "pgpool2", Account: "postgres", Quit: "INT",
		Serve: func(command []string, dir string, port int) []string {
			file := filepath.Join(dir, "config")
			return dbtest.WithFile(file, fmt.Sprintf(`backend_clustering_mode = 'streaming_replication'
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
%[9]s
`, port, pcp, dir, primary.Host, primary.Port, replica.Host, replica.Port, primary.User, strings.Join(settings, "\n")),
				command[0], "-n", "-D", "-f", file)
		},
		Answers: func(ctx context.Context, address string) error {
			db := through(address)
			conn, err := sql.Open(db.Driver, db.DSN)
			if err != nil {
				return err
			}
			defer conn.Close()
			return conn.PingContext(ctx)
		},
	}.Start(t).Address)
}
