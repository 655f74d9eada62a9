//go:build nightly

package autoinc_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
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
	conn := dbtest.Durable(t, "postgres").Connect(t)
	dbtest.Exec(t, conn,
		"CREATE TABLE users (id uuid PRIMARY KEY, name text, created_at timestamptz NOT NULL)",
		"CREATE TABLE orders (id uuid PRIMARY KEY, user_id uuid NOT NULL REFERENCES users, total int, created_at timestamptz NOT NULL)",
		"CREATE TABLE visits (id uuid PRIMARY KEY, user_id uuid NOT NULL REFERENCES users, page text, created_at timestamptz NOT NULL)",
		fmt.Sprintf("INSERT INTO users SELECT md5('u' || n)::uuid, 'user number ' || n, '2025-02-03'::timestamptz + n * interval '1 s' FROM generate_series(1, %d) n", rows),
		fmt.Sprintf("INSERT INTO orders SELECT md5('o' || n)::uuid, md5('u' || n %% %d + 1)::uuid, n, '2025-02-03'::timestamptz + n * interval '1 s' FROM generate_series(1, %d) n", rows, 2*rows),
		fmt.Sprintf("INSERT INTO visits SELECT md5('v' || n)::uuid, md5('u' || n %% %d + 1)::uuid, 'the page ' || n, '2025-02-03'::timestamptz + n * interval '1 s' FROM generate_series(1, %d) n", rows, 2*rows),
		"CREATE INDEX ON orders (user_id)", "CREATE INDEX ON visits (user_id)", "VACUUM ANALYZE")
	took := func(f func()) time.Duration {
		began := time.Now()
		f()
		return time.Since(began)
	}
	var ratios, whole []float64
	for turn := range turns {
		rewrite := took(func() {
			for _, table := range []string{"users", "orders", "visits"} {
				dbtest.Exec(t, conn, "VACUUM FULL "+table)
			}
			for _, table := range []string{"orders", "visits"} {
				dbtest.Exec(t, conn, fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %[1]s_user_id_fkey, ADD CONSTRAINT %[1]s_user_id_fkey FOREIGN KEY (user_id) REFERENCES users", table))
			}
		})
		p := plan(t, conn, autoinc.PlanOptions{Rekey: &autoinc.RekeyOptions{}})
		began := time.Now()
		steps := past(t, int64(2*turn))
		steps.BatchSize, steps.Progress = 0, func(p autoinc.Progress) {
			switch d := time.Since(began); {
			case p.Event == autoinc.Began:
				began = time.Now()
			case p.Event == autoinc.Ended && p.Step.Unit == 0 && d > rewrite/100:
				t.Logf("%6.2f s  %.150s", d.Seconds(), p.Step.SQL)
			}
		}
		mapped := took(func() { dbtest.Must(autoinc.Apply(t.Context(), conn, p, steps))(t) })
		steps.IDs = past(t, int64(2*turn+1)).IDs
		last, lastStep := time.Now(), autoinc.Step{}
		steps.Progress = func(p autoinc.Progress) {
			if p.Event == autoinc.Began {
				if d := time.Since(last); d > rewrite/100 {
					t.Logf("%6.2f s  %.150s", d.Seconds(), lastStep.SQL)
				}
				last, lastStep = time.Now(), p.Step
			}
		}
		rekeyed := took(func() { dbtest.Must(autoinc.Apply(t.Context(), conn, p, steps))(t) })
		ratio := rekeyed.Seconds() / rewrite.Seconds()
		ratios, whole = append(ratios, ratio), append(whole, (mapped+rekeyed).Seconds()/rewrite.Seconds())
		t.Logf("turn %d: rewriting took %.1f s, map %.1f s, rekey %.1f s: %.2f times as long while the application is stopped", turn+1, rewrite.Seconds(), mapped.Seconds(), rekeyed.Seconds(), ratio)
		prove(t, conn, p)
		dbtest.NoError(t, autoinc.Undo(t.Context(), conn, p, autoinc.ApplyOptions{}))
		dbtest.Exec(t, conn, "VACUUM ANALYZE", "CHECKPOINT")
	}
	slices.Sort(ratios)
	slices.Sort(whole)
	t.Logf("%d rows with two children of %d: the phase rekey takes %.2f times as long as rewriting the tables, with map %.2f", rows, 2*rows, ratios[turns/2], whole[turns/2])
}
