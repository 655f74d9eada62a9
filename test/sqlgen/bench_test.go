package sqlgen

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/sqlgen"
)

// BenchmarkInserts compares kinds of keys on a server that flushes each commit. Each
// iteration inserts the same number of rows with each kind, in turns. The metrics are the
// rates of rows as multiples of the rate of bigserial.
func BenchmarkInserts(b *testing.B) {
	type kind struct{ name, column, many string }
	kinds := []kind{
		{"bigserial", "id bigserial PRIMARY KEY", ""},
		{"uuid", "id uuid PRIMARY KEY DEFAULT gen_random_uuid()", ""},
		{"default", "id bigint PRIMARY KEY DEFAULT snowkey_next()", ""},
		{"set", "id bigint PRIMARY KEY", "INSERT INTO set_ SELECT id, v FROM ROWS FROM (snowkey_next(1000), generate_series(1, 1000)) r (id, v)"},
	}
	server := dbtest.Durable(b, "postgres")
	db := server.Connect(b)
	db.SetMaxIdleConns(16)
	exec := func(statement string) {
		if _, err := db.Exec(statement); err != nil {
			b.Error(err)
		}
	}
	statements, err := sqlgen.Writer{}.Postgres()
	if err != nil {
		b.Fatal(err)
	}
	for _, s := range statements {
		exec(s)
	}
	var version int
	if err := db.QueryRow("SELECT current_setting('server_version_num')::int").Scan(&version); err != nil {
		b.Fatal(err)
	}
	if version >= 180000 {
		kinds = append(kinds, kind{"uuidv7", "id uuid PRIMARY KEY DEFAULT uuidv7()", ""})
	}
	for _, k := range kinds {
		exec(fmt.Sprintf("CREATE TABLE %s_ (%s, v int)", k.name, k.column))
	}
	exec("SELECT snowkey_next()")
	time.Sleep(13 * time.Second) // until ids are no longer ahead of the clock
	for _, rows := range []int{1, 1000} {
		for _, sessions := range []int{1, 16} {
			b.Run(fmt.Sprintf("rows=%d/sessions=%d", rows, sessions), func(b *testing.B) {
				took := make([]time.Duration, len(kinds))
				n := 0
				for b.Loop() {
					for i := range kinds {
						k := kinds[(i+n)%len(kinds)]
						statement := fmt.Sprintf("INSERT INTO %s_ (v) SELECT generate_series(1, %d)", k.name, rows)
						if rows == 1 {
							statement = fmt.Sprintf("INSERT INTO %s_ (v) VALUES (1)", k.name)
						}
						if k.many != "" {
							if rows == 1 {
								continue
							}
							statement = k.many
						}
						began := time.Now()
						var wait sync.WaitGroup
						for range sessions {
							wait.Go(func() {
								for range max(200/sessions/(rows/10+1), 1) {
									exec(statement)
								}
							})
						}
						wait.Wait()
						took[(i+n)%len(kinds)] += time.Since(began)
					}
					n++
				}
				for i, k := range kinds[1:] {
					if took[i+1] > 0 {
						b.ReportMetric(float64(took[0])/float64(took[i+1]), k.name+"/bigserial")
					}
				}
				done := float64(n * sessions * rows * max(200/sessions/(rows/10+1), 1))
				b.ReportMetric(done/took[0].Seconds(), "bigserial-rows/s")
			})
		}
	}
}
