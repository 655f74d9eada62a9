//go:build nightly

package autoinc_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/schema/catalog"
)

// TestNightlyRekeySpeed replaces UUIDs of ROWS rows (100,000) with two children of twice as
// many, in turns with rewriting the three tables once and checking their foreign keys. It
// reports the ratio of the times, and what each step of the phase rekey took. TABLES are those
// whose own keys are replaced (users); with "users orders visits" five times as many are.
// SETTINGS are those of the server, such as "shared_buffers=4GB work_mem=1GB".
func TestNightlyRekeySpeed(t *testing.T) {
	if !slices.Contains(dbtest.Databases(t), "postgres") {
		t.Skip("only Postgres has tables that are large enough to tell")
	}
	rows := dbtest.Must(strconv.Atoi(cmp.Or(os.Getenv("ROWS"), "100000")))(t)
	var tables []catalog.Name
	for name := range strings.FieldsSeq(cmp.Or(os.Getenv("TABLES"), "users")) {
		tables = append(tables, catalog.Name{Name: name})
	}
	turns := dbtest.Must(strconv.Atoi(cmp.Or(os.Getenv("TURNS"), "3")))(t)
	db := dbtest.Durable(t, "postgres", strings.Fields(os.Getenv("SETTINGS"))...)
	conn := db.Connect(t)
	dbtest.Exec(t, conn,
		"CREATE TABLE users (id uuid, name text, created_at timestamptz NOT NULL)",
		"CREATE TABLE orders (id uuid, user_id uuid NOT NULL, total int, created_at timestamptz NOT NULL)",
		"CREATE TABLE visits (id uuid, user_id uuid NOT NULL, page text, created_at timestamptz NOT NULL)",
		fmt.Sprintf("INSERT INTO users SELECT md5('u' || n)::uuid, 'user number ' || n, '2025-02-03'::timestamptz + n * interval '1 s' FROM generate_series(1, %d) n", rows),
		fmt.Sprintf("INSERT INTO orders SELECT md5('o' || n)::uuid, md5('u' || n %% %d + 1)::uuid, n, '2025-02-03'::timestamptz + n * interval '1 s' FROM generate_series(1, %d) n", rows, 2*rows),
		fmt.Sprintf("INSERT INTO visits SELECT md5('v' || n)::uuid, md5('u' || n %% %d + 1)::uuid, 'the page ' || n, '2025-02-03'::timestamptz + n * interval '1 s' FROM generate_series(1, %d) n", rows, 2*rows),
		"ALTER TABLE users ADD PRIMARY KEY (id)") // after the rows, because random keys are slow to insert
	for _, child := range []string{"orders", "visits"} {
		dbtest.Exec(t, conn, fmt.Sprintf("ALTER TABLE %s ADD PRIMARY KEY (id), ADD FOREIGN KEY (user_id) REFERENCES users", child), fmt.Sprintf("CREATE INDEX ON %s (user_id)", child))
	}
	dbtest.Exec(t, conn, "VACUUM ANALYZE")
	var ratios, whole, short []float64
	for turn := range turns {
		began := time.Now()
		for _, table := range []string{"users", "orders", "visits"} {
			dbtest.Exec(t, conn, "VACUUM FULL "+table)
		}
		for _, table := range []string{"orders", "visits"} {
			dbtest.Exec(t, conn, fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %[1]s_user_id_fkey, ADD CONSTRAINT %[1]s_user_id_fkey FOREIGN KEY (user_id) REFERENCES users", table))
		}
		rewrite := time.Since(began)
		p := plan(t, conn, autoinc.PlanOptions{Tables: tables, Rekey: &autoinc.RekeyOptions{}})
		var took [2]time.Duration
		for i := range took {
			options := past(t, int64(2*turn+i))
			options.BatchSize = 0
			last, step := time.Now(), autoinc.Step{}
			options.Progress = func(p autoinc.Progress) {
				if p.Event != autoinc.Began {
					return
				}
				if d := time.Since(last); d > rewrite/50 {
					t.Logf("%6.2f s  %.140s", d.Seconds(), step.SQL)
				}
				last, step = time.Now(), p.Step
			}
			began := time.Now()
			dbtest.Must(autoinc.Apply(t.Context(), conn, p, options))(t)
			took[i] = time.Since(began)
		}
		ratios = append(ratios, took[1].Seconds()/rewrite.Seconds())
		whole = append(whole, (took[0]+took[1]).Seconds()/rewrite.Seconds())
		t.Logf("turn %d: rewriting %v, map %v, rekey %v", turn+1, rewrite, took[0], took[1])
		prove(t, conn, p)
		dbtest.NoError(t, autoinc.Undo(t.Context(), conn, p, autoinc.ApplyOptions{}))
		dbtest.Exec(t, conn, "VACUUM ANALYZE", "CHECKPOINT")
		p = plan(t, conn, autoinc.PlanOptions{Online: true, Tables: tables, Rekey: &autoinc.RekeyOptions{}})
		options := past(t, int64(2*turns+2*turn))
		options.BatchSize = 0
		dbtest.Must(autoinc.Apply(t.Context(), conn, p, options))(t)
		options = past(t, int64(2*turns+2*turn+1))
		options.BatchSize, options.HoldSwap = 0, true
		began = time.Now()
		held := began
		options.Progress = func(e autoinc.Progress) {
			if e.Event == autoinc.Retried && strings.Contains(e.Err.Error(), "ready to be replaced") {
				held = time.Now()
				dbtest.NoError(t, autoinc.Control(t.Context(), db.Connect(t), p, autoinc.Continue))
			}
		}
		dbtest.Must(autoinc.Apply(t.Context(), conn, p, options))(t)
		stopped := time.Since(held)
		prove(t, conn, p)
		t.Logf("turn %d: online %v, of which the application is stopped %v", turn+1, time.Since(began), stopped)
		short = append(short, stopped.Seconds()/rewrite.Seconds())
		dbtest.NoError(t, autoinc.Undo(t.Context(), conn, p, autoinc.ApplyOptions{}))
		dbtest.Exec(t, conn, "VACUUM FULL", "VACUUM ANALYZE", "CHECKPOINT")
	}
	for _, list := range [][]float64{ratios, whole, short} {
		slices.Sort(list)
	}
	t.Logf("online, the application is stopped %.2f times as long as rewriting the tables takes", short[turns/2])
	t.Logf("%d rows with two children of %d: the phase rekey takes %.2f times as long as rewriting the tables, and with the phase map %.2f times", rows, 2*rows, ratios[turns/2], whole[turns/2])
}
