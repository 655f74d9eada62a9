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
)

// TestNightlyRekeySpeed replaces UUIDs of ROWS rows (100,000) with two children of twice as
// many, in turns with rewriting the three tables once and checking their foreign keys. It
// reports the ratio of the times, and what each step of the phase rekey took.
func TestNightlyRekeySpeed(t *testing.T) {
	if !slices.Contains(dbtest.Databases(t), "postgres") {
		t.Skip("only Postgres has tables that are large enough to tell")
	}
	rows := dbtest.Must(strconv.Atoi(cmp.Or(os.Getenv("ROWS"), "100000")))(t)
	turns := dbtest.Must(strconv.Atoi(cmp.Or(os.Getenv("TURNS"), "3")))(t)
	db := dbtest.Durable(t, "postgres")
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
	var backend int
	conn.SetMaxOpenConns(1) // so that it is always the same
	dbtest.NoError(t, conn.QueryRow("SELECT pg_backend_pid()").Scan(&backend))
	dbtest.Exec(t, conn, "SET max_parallel_workers_per_gather = 0", "SET max_parallel_maintenance_workers = 0")
	now := func() cost { return cost{time.Now(), processor(backend)} }
	var ratios, busy, whole, short []float64
	for turn := range turns {
		began := now()
		for _, table := range []string{"users", "orders", "visits"} {
			dbtest.Exec(t, conn, "VACUUM FULL "+table)
		}
		for _, table := range []string{"orders", "visits"} {
			dbtest.Exec(t, conn, fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %[1]s_user_id_fkey, ADD CONSTRAINT %[1]s_user_id_fkey FOREIGN KEY (user_id) REFERENCES users", table))
		}
		rewrite := now().since(began)
		p := plan(t, conn, autoinc.PlanOptions{Rekey: &autoinc.RekeyOptions{}})
		var took [2]rewritten
		for i := range took {
			options := past(t, int64(2*turn+i))
			options.BatchSize = 0
			last, step := now(), autoinc.Step{}
			options.Progress = func(p autoinc.Progress) {
				if p.Event != autoinc.Began {
					return
				}
				if d := now().since(last); d.time > rewrite.time/50 && d.processor > rewrite.processor/50 {
					t.Logf("%v  %.140s", d, step.SQL)
				}
				last, step = now(), p.Step
			}
			began := now()
			dbtest.Must(autoinc.Apply(t.Context(), conn, p, options))(t)
			took[i] = now().since(began)
		}
		ratios = append(ratios, took[1].time.Seconds()/rewrite.time.Seconds())
		busy = append(busy, took[1].processor.Seconds()/rewrite.processor.Seconds())
		whole = append(whole, (took[0].processor+took[1].processor).Seconds()/rewrite.processor.Seconds())
		t.Logf("turn %d: rewriting %v, map %v, rekey %v", turn+1, rewrite, took[0], took[1])
		prove(t, conn, p)
		dbtest.NoError(t, autoinc.Undo(t.Context(), conn, p, autoinc.ApplyOptions{}))
		dbtest.Exec(t, conn, "VACUUM ANALYZE", "CHECKPOINT")
		p = plan(t, conn, autoinc.PlanOptions{Online: true, Rekey: &autoinc.RekeyOptions{}})
		options := past(t, int64(2*turns+2*turn))
		options.BatchSize = 0
		dbtest.Must(autoinc.Apply(t.Context(), conn, p, options))(t)
		options = past(t, int64(2*turns+2*turn+1))
		options.BatchSize, options.HoldSwap = 0, true
		began = now()
		held := began
		options.Progress = func(e autoinc.Progress) {
			if e.Event == autoinc.Retried && strings.Contains(e.Err.Error(), "ready to be replaced") {
				held = now()
				dbtest.NoError(t, autoinc.Control(t.Context(), db.Connect(t), p, autoinc.Continue))
			}
		}
		dbtest.Must(autoinc.Apply(t.Context(), conn, p, options))(t)
		stopped := now().since(held)
		prove(t, conn, p)
		t.Logf("turn %d: online %v, of which the application is stopped %v", turn+1, now().since(began), stopped)
		short = append(short, stopped.time.Seconds()/rewrite.time.Seconds())
		dbtest.NoError(t, autoinc.Undo(t.Context(), conn, p, autoinc.ApplyOptions{}))
		dbtest.Exec(t, conn, "VACUUM FULL", "VACUUM ANALYZE", "CHECKPOINT")
	}
	for _, list := range [][]float64{ratios, busy, whole, short} {
		slices.Sort(list)
	}
	t.Logf("online, the application is stopped %.2f times as long as rewriting the tables takes", short[turns/2])
	t.Logf("%d rows with two children of %d: the phase rekey takes %.2f times as long as rewriting the tables, and %.2f times the processor time, with map %.2f", rows, 2*rows, ratios[turns/2], busy[turns/2], whole[turns/2])
}

// A cost is a time, with what a process has used of the processor until then.
type cost struct {
	at        time.Time
	processor time.Duration
}

type rewritten struct{ time, processor time.Duration }

func (r rewritten) String() string {
	return fmt.Sprintf("%6.2f s (processor %.2f s)", r.time.Seconds(), r.processor.Seconds())
}

func (c cost) since(before cost) rewritten {
	return rewritten{c.at.Sub(before.at), c.processor - before.processor}
}

// processor returns the processor time of a process, which other programs on the machine don't
// change much. It is 0 where there is no /proc.
func processor(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(stat))
	if err != nil || len(fields) < 15 {
		return 0
	}
	user, _ := strconv.Atoi(fields[13])
	system, _ := strconv.Atoi(fields[14])
	return time.Duration(user+system) * 10 * time.Millisecond
}
