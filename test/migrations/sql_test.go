package migrations_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestSQLDefault runs the files of "snowkey sql" with each tool, and what it prints with
// the client of MariaDB.
func TestSQLDefault(t *testing.T) {
	for dialect, kind := range map[string]string{"postgres": "postgres", "mysql": "mariadb"} {
		if !dbtest.Wants(t, dialect) {
			continue
		}
		for name, open := range tools {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				db := dbtest.Open(t, dialect)
				if dialect == "mysql" && !db.MariaDB {
					t.Skipf("%s is not MariaDB", db.Version)
				}
				conn := db.Connect(t)
				dir := t.TempDir()
				if out, err := exec.Command(command, "sql", "--dialect", kind, "--files", dir, "--format", name).CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				tool := open(t, db, conn, dir)
				defer tool.stop()
				if err := tool.up(); err != nil {
					t.Fatal(err)
				}
				var id int64
				if err := conn.QueryRow("SELECT snowkey_next()").Scan(&id); err != nil || id>>12&1023 != 1023 {
					t.Errorf("got the id %d: %v", id, err)
				}
				if err := tool.down(); err != nil {
					t.Fatal(err)
				}
				if err := conn.QueryRow("SELECT snowkey_next()").Scan(&id); err == nil {
					t.Error("the function is still there")
				}
			})
		}
	}
	if !dbtest.Wants(t, "mysql") {
		return
	}
	t.Run("mariadb/client", func(t *testing.T) {
		t.Parallel()
		db := dbtest.MySQL(t)
		client, err := exec.LookPath("mariadb")
		if !db.MariaDB || err != nil {
			t.Skip("there is no MariaDB, or not its client")
		}
		// root:password@tcp(127.0.0.1:3306)/database?…
		parts := regexp.MustCompile(`^(\w+):?(.*)@tcp\((.*):(\d+)\)/(\w+)`).FindStringSubmatch(db.DSN)
		if parts == nil {
			t.Fatal("the DSN has another form")
		}
		script, err := exec.Command(command, "sql", "--dialect", "mariadb").Output()
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "next.sql")
		if err := os.WriteFile(file, script, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(client, "--no-defaults", "--user="+parts[1], "--password="+parts[2], "--host="+parts[3], "--port="+parts[4],
			"--execute=source "+file+"; SELECT snowkey_next()", parts[5]).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "snowkey_next()") {
			t.Errorf("%v: %s", err, out)
		}
	})
}
