package sqlgen

import (
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/sqlgen"
)

// A keyKind is a kind of key. Its table has the column and a number v.
type keyKind struct {
	name, column string
	one, many    string // INSERT INTO the table; many has the number of rows; one is empty if the kind is for many
}

// keyKinds has the kinds for each server. Rates are multiples of the first one's.
var keyKinds = map[string][]keyKind{
	"postgres": {
		{"bigserial", "id bigserial PRIMARY KEY", "(v) VALUES (1)", "(v) SELECT generate_series(1, %d)"},
		{"default", "id bigint PRIMARY KEY DEFAULT snowkey_next()", "(v) VALUES (1)", "(v) SELECT generate_series(1, %d)"},
		{"set", "id bigint PRIMARY KEY", "", "SELECT id, v FROM ROWS FROM (snowkey_next(%d), generate_series(1, %[1]d)) r (id, v)"},
		{"uuidv7", "id uuid PRIMARY KEY DEFAULT uuidv7()", "(v) VALUES (1)", "(v) SELECT generate_series(1, %d)"},
	},
	"mariadb": {
		{"auto_increment", "id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY", "(v) VALUES (1)", "(v) SELECT seq FROM seq_1_to_%d"},
		{"trigger", "id BIGINT NOT NULL DEFAULT 0 PRIMARY KEY", "(v) VALUES (1)", "(v) SELECT seq FROM seq_1_to_%d"},
	},
	"mysql": {
		{"auto_increment", "id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY", "(v) VALUES (1)", "(v) " + series + "SELECT i FROM n"},
		{"trigger", "id BIGINT NOT NULL PRIMARY KEY", "(v) VALUES (1)", "(v) " + series + "SELECT i FROM n"},
	},
}

const series = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "

// BenchmarkInserts compares kinds of keys on a server that flushes each commit. Each
// iteration inserts the same number of rows with each kind, in turns.
func BenchmarkInserts(b *testing.B) {
	for _, dialect := range []string{"postgres", "mysql"} {
		b.Run(dialect, func(b *testing.B) {
			server := dbtest.Durable(b, dialect).Since(b, 15)
			db := server.Connect(b)
			print, kinds := sqlgen.Writer{}.MySQL, keyKinds[dialect]
			switch {
			case dialect == "postgres":
				print = sqlgen.Writer{}.Postgres
				if !strings.HasPrefix(server.Version, "postgres 18") {
					kinds = kinds[:len(kinds)-1] // has no uuidv7
				}
			case server.MariaDB:
				print, kinds = sqlgen.Writer{}.MariaDB, keyKinds["mariadb"]
			}
			statements := append(dbtest.Must(print())(b), "SELECT snowkey_next()")
			for _, k := range kinds {
				statements = append(statements, fmt.Sprintf("CREATE TABLE %s_ (%s, v int)", k.name, k.column))
				if k.name == "trigger" {
					statements = append(statements, sqlgen.Writer{}.MySQLTrigger("trigger_", "id"))
				}
			}
			dbtest.Exec(b, db, statements...)
			rates(b, db, kinds)
		})
	}
}

// rates compares the kinds with the first one.
func rates(b *testing.B, db *sql.DB, kinds []keyKind) {
	db.SetMaxIdleConns(16)
	time.Sleep(13 * time.Second) // until ids are no longer ahead of the clock
	for _, rows := range []int{1, 1000} {
		for _, sessions := range []int{1, 16} {
			each := max(1600/sessions/(rows/10+1), 1) // statements of a session in a turn, which is so long that few find the caches cold
			b.Run(fmt.Sprintf("rows=%d/sessions=%d", rows, sessions), func(b *testing.B) {
				took := make([]time.Duration, len(kinds))
				n := 0
				for ; b.Loop(); n++ {
					for i := range kinds {
						i = (i + n) % len(kinds)
						statement := kinds[i].one
						if rows > 1 {
							statement = fmt.Sprintf(kinds[i].many, rows)
						}
						if statement == "" {
							continue
						}
						began := time.Now()
						var wait sync.WaitGroup
						for range sessions {
							wait.Go(func() {
								for range each {
									if _, err := db.Exec("INSERT INTO " + kinds[i].name + "_ " + statement); err != nil {
										b.Error(err)
									}
								}
							})
						}
						wait.Wait()
						took[i] += time.Since(began)
					}
				}
				for i, k := range kinds[1:] {
					if took[i+1] > 0 {
						b.ReportMetric(float64(took[0])/float64(took[i+1]), k.name+"/"+kinds[0].name)
					}
				}
				b.ReportMetric(float64(n*sessions*rows*each)/took[0].Seconds(), kinds[0].name+"-rows/s")
			})
		}
	}
}
