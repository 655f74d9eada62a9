package sqlgen

import (
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/sqlgen"
)

// A kind of key, with the statement that inserts 1 or many rows.
type kind struct {
	name, column string
	insert       func(table string, rows int) string
}

// BenchmarkInserts compares kinds of keys on a server that flushes each commit. Each
// iteration inserts the same number of rows with each kind, in turns. The metrics are the
// rates of rows as multiples of the rate of bigserial.
func BenchmarkInserts(b *testing.B) {
	rows := func(table string, rows int) string {
		if rows == 1 {
			return fmt.Sprintf("INSERT INTO %s (v) VALUES (1)", table)
		}
		return fmt.Sprintf("INSERT INTO %s (v) SELECT generate_series(1, %d)", table, rows)
	}
	kinds := []kind{
		{"bigserial", "id bigserial PRIMARY KEY", rows},
		{"uuid", "id uuid PRIMARY KEY DEFAULT gen_random_uuid()", rows},
		{"default", "id bigint PRIMARY KEY DEFAULT snowkey_next()", rows},
		{"floor", "id bigint PRIMARY KEY DEFAULT floor()", rows},
		{"set", "id bigint PRIMARY KEY", func(table string, rows int) string {
			if rows == 1 {
				return ""
			}
			return fmt.Sprintf("INSERT INTO %s SELECT id, v FROM ROWS FROM (snowkey_next(%d), generate_series(1, %[2]d)) r (id, v)", table, rows)
		}},
	}
	db := dbtest.Durable(b, "postgres").Since(b, 15).Connect(b)
	var version int
	if err := db.QueryRow("SELECT current_setting('server_version_num')::int").Scan(&version); err != nil {
		b.Fatal(err)
	}
	if version >= 180000 {
		kinds = append(kinds, kind{"uuidv7", "id uuid PRIMARY KEY DEFAULT uuidv7()", rows})
	}
	statements, err := sqlgen.Writer{}.Postgres()
	if err != nil {
		b.Fatal(err)
	}
	// What any function in PL/pgSQL costs that a role without rights on the sequence can call.
	statements = append(statements, "CREATE SEQUENCE floor_counter",
		"CREATE FUNCTION floor() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS 'BEGIN RETURN nextval(''public.floor_counter''); END'")
	rates(b, db, statements, kinds)
}

// BenchmarkMariaDBInserts is the same on MariaDB, as multiples of the rate of
// AUTO_INCREMENT.
func BenchmarkMariaDBInserts(b *testing.B) {
	rows := func(table string, rows int) string {
		if rows == 1 {
			return fmt.Sprintf("INSERT INTO %s (v) VALUES (1)", table)
		}
		return fmt.Sprintf("INSERT INTO %s (v) SELECT seq FROM seq_1_to_%d", table, rows)
	}
	server := dbtest.Durable(b, "mysql")
	if !server.MariaDB {
		b.Skipf("%s is not MariaDB", server.Version)
	}
	statements, err := sqlgen.Writer{}.MariaDB()
	if err != nil {
		b.Fatal(err)
	}
	rates(b, server.Connect(b), append(statements, "CREATE SEQUENCE numbers"), []kind{
		{"auto_increment", "id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY", rows},
		{"nextval", "id BIGINT NOT NULL PRIMARY KEY", func(table string, rows int) string {
			if rows == 1 {
				return fmt.Sprintf("INSERT INTO %s VALUES (NEXTVAL(numbers), 1)", table)
			}
			return fmt.Sprintf("INSERT INTO %s SELECT NEXTVAL(numbers), seq FROM seq_1_to_%d", table, rows)
		}},
		{"uuid", "id UUID NOT NULL DEFAULT UUID() PRIMARY KEY", rows},
		{"trigger", "id BIGINT NOT NULL DEFAULT 0 PRIMARY KEY", rows},
	})
}

// BenchmarkMySQLInserts is the same on MySQL.
func BenchmarkMySQLInserts(b *testing.B) {
	server := dbtest.Durable(b, "mysql")
	if server.MariaDB {
		b.Skipf("%s is not MySQL", server.Version)
	}
	statements, err := sqlgen.Writer{}.MySQL()
	if err != nil {
		b.Fatal(err)
	}
	rows := func(table string, rows int) string {
		return fmt.Sprintf("INSERT INTO %s (v) %s", table, many(rows, "i"))
	}
	rates(b, server.Connect(b), statements, []kind{
		{"auto_increment", "id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY", rows},
		{"uuid", "id BINARY(16) NOT NULL PRIMARY KEY", func(table string, rows int) string {
			return fmt.Sprintf("INSERT INTO %s %s", table, many(rows, "UUID_TO_BIN(UUID(), 1), i"))
		}},
		{"trigger", "id BIGINT NOT NULL PRIMARY KEY", rows},
	})
}

// rates compares the kinds with the first one.
func rates(b *testing.B, db *sql.DB, statements []string, kinds []kind) {
	db.SetMaxIdleConns(16)
	exec := func(statement string) {
		if _, err := db.Exec(statement); err != nil {
			b.Error(err)
		}
	}
	for _, s := range statements {
		exec(s)
	}
	for _, k := range kinds {
		exec(fmt.Sprintf("CREATE TABLE %s_ (%s, v int)", k.name, k.column))
		if k.name == "trigger" {
			exec(sqlgen.Writer{}.MySQLTrigger("trigger_", "id"))
		}
	}
	exec("SELECT snowkey_next()")
	time.Sleep(13 * time.Second) // until ids are no longer ahead of the clock
	for _, rows := range []int{1, 1000} {
		for _, sessions := range []int{1, 16} {
			each := max(1600/sessions/(rows/10+1), 1) // statements of a session in a turn, which is so long that few find the caches cold
			b.Run(fmt.Sprintf("rows=%d/sessions=%d", rows, sessions), func(b *testing.B) {
				took := make([]time.Duration, len(kinds))
				n := 0
				for b.Loop() {
					for i := range kinds {
						i = (i + n) % len(kinds)
						statement := kinds[i].insert(kinds[i].name+"_", rows)
						if statement == "" {
							continue
						}
						began := time.Now()
						var wait sync.WaitGroup
						for range sessions {
							wait.Go(func() {
								for range each {
									exec(statement)
								}
							})
						}
						wait.Wait()
						took[i] += time.Since(began)
					}
					n++
				}
				for i, k := range kinds[1:] {
					if took[i+1] > 0 {
						b.ReportMetric(float64(took[0])/float64(took[i+1]), k.name+"/"+kinds[0].name)
					}
				}
				done := float64(n * sessions * rows * each)
				b.ReportMetric(done/took[0].Seconds(), kinds[0].name+"-rows/s")
			})
		}
	}
}
