package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestSQLClient runs what snowkey sql prints with the client of the server, which splits
// statements by itself.
func TestSQLClient(t *testing.T) {
	t.Parallel()
	about := dbtest.MySQL(t)
	dialect := "mysql"
	if about.MariaDB {
		dialect = "mariadb"
	}
	client, err := exec.LookPath("mysql")
	if err != nil {
		t.Skip("there is no client of MySQL")
	}
	db := about.Connect(t)
	cfg := dbtest.Must(mysql.ParseDSN(about.DSN))(t)
	host, port, ok := strings.Cut(cfg.Addr, ":")
	if !ok {
		t.Skipf("the server listens on %s", cfg.Net)
	}
	printed := call(t, nil, "sql", "--dialect", dialect, "--layout", "jssafe")
	if printed.status != 0 {
		t.Fatalf("%+v", printed)
	}
	cmd := exec.CommandContext(t.Context(), client, "--no-defaults", "-h"+host, "-P"+port, "-u"+cfg.User, cfg.DBName)
	cmd.Stdin = strings.NewReader(printed.out)
	cmd.Env = append(cmd.Environ(), "MYSQL_PWD="+cfg.Passwd)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var id int64
	if err := db.QueryRow("SELECT snowkey_next()").Scan(&id); err != nil || id < 1000000 || id >= 1<<53 {
		t.Errorf("%d: %v", id, err)
	}
}
