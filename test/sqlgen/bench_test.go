package sqlgen

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A keyKind is a kind of key. Its table has the column and a number v.
type keyKind struct {
	name, column string
	one, many    string // INSERT INTO the table; many has the number of rows; one is empty if the kind is for many
}

// keyKinds has the kinds for each server. The first one is the server's own counter.
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

// BenchmarkInserts compares kinds of keys on a server that flushes each commit.
func BenchmarkInserts(b *testing.B) {
	for _, dialect := range []string{"postgres", "mysql"} {
		b.Run(dialect, func(b *testing.B) {
			server := dbtest.Durable(b, dialect).Since(b, 15)
			db := server.Connect(b)
			kinds := keyKinds[dialect]
			switch {
			case dialect == "postgres" && !strings.HasPrefix(server.Version, "postgres 18"):
				kinds = kinds[:len(kinds)-1] // has no uuidv7
			case server.MariaDB:
				kinds = keyKinds["mariadb"]
			}
			dbtest.Exec(b, db, append(printed(kindOf(server).printed, "").Create, "SELECT snowkey_next()")...)
			for _, k := range kinds {
				dbtest.Exec(b, db, fmt.Sprintf("CREATE TABLE %s_ (%s, v int)", k.name, k.column))
				if k.name == "trigger" {
					dbtest.Exec(b, db, trigger("trigger_"))
				}
			}
			db.SetMaxIdleConns(16)
			time.Sleep(13 * time.Second) // until ids are no longer ahead of the clock
			for _, tt := range []struct{ rows, sessions int }{{1, 1}, {1, 16}, {1000, 1}} {
				for _, k := range kinds {
					statement := k.one
					if tt.rows > 1 {
						statement = fmt.Sprintf(k.many, tt.rows)
					}
					if statement != "" {
						b.Run(fmt.Sprintf("rows=%d/sessions=%d/%s", tt.rows, tt.sessions, k.name), func(b *testing.B) {
							inserts(b, db, "INSERT INTO "+k.name+"_ "+statement, tt.rows, tt.sessions)
						})
					}
				}
			}
		})
	}
}

// inserts executes a statement in some sessions at a time.
func inserts(b *testing.B, db *sql.DB, statement string, rows, sessions int) {
	db.SetMaxOpenConns(sessions)
	b.SetParallelism(sessions)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := db.Exec(statement); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
}
