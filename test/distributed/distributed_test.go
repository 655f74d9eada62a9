// Package distributed tests what docs/stores.md says about ascending ids in hash
// partitions.
package distributed

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

const partitions, rows = 16, 16_000

// block returns the statement of the page whose first line is this comment.
func block(t *testing.T, comment string) string {
	t.Helper()
	page := dbtest.Must(os.ReadFile("../../docs/stores.md"))(t)
	_, rest, ok := strings.Cut(string(page), "```sql\n-- "+comment+"\n")
	statement, _, _ := strings.Cut(rest, ";\n```")
	if !ok {
		t.Fatalf("the page has no statement for %q", comment)
	}
	return statement
}

// draw returns ids, one in each millisecond. Each call must use another worker number, because
// a generator starts above the ids of earlier ones.
func draw(t *testing.T, number int64, noSpread bool) (ids []int64) {
	t.Helper()
	now := time.Now()
	pool := dbtest.Must(idgen.NewPool(idgen.Config{Worker: worker.Static(number), NoSpread: noSpread, Clock: func() time.Time { return now }}))(t)
	defer pool.Close(t.Context())
	for range rows {
		ids = append(ids, dbtest.Must(pool.Next(t.Context()))(t))
		now = now.Add(time.Millisecond)
	}
	return ids
}

// Without the spread, ids that are made one by one have the same low bits, and so the same
// remainder.
func TestNoSpread(t *testing.T) {
	if one := slices.IndexFunc(draw(t, 1, true), func(id int64) bool { return id%partitions != 0 }); one >= 0 {
		t.Errorf("id %d is in another partition than those before", one)
	}
}

func TestPartitions(t *testing.T) {
	dbtest.EachServer(t, func(t *testing.T, db dbtest.DB) {
		conn, part, number := db.Connect(t), "orders PARTITION (p%d)", int64(2)
		if db.Dialect == "postgres" {
			part, number = "orders_p%d", 3
			dbtest.Exec(t, conn, block(t, "PostgreSQL"))
			for i := range partitions {
				dbtest.Exec(t, conn, fmt.Sprintf("CREATE TABLE orders_p%d PARTITION OF orders FOR VALUES WITH (MODULUS %d, REMAINDER %d)", i, partitions, i))
			}
		} else {
			dbtest.Exec(t, conn, block(t, "MySQL and MariaDB"))
		}
		for some := range slices.Chunk(draw(t, number, false), 1000) {
			var values []string
			for _, id := range some {
				values = append(values, fmt.Sprintf("(%d, 'x')", id))
			}
			dbtest.Exec(t, conn, "INSERT INTO orders (id, name) VALUES "+strings.Join(values, ", "))
		}
		for i := range partitions {
			n := dbtest.Must(strconv.Atoi(dbtest.Rows(t, conn, "SELECT COUNT(*) FROM "+fmt.Sprintf(part, i))[0]))(t)
			if share := float64(n) / rows; share < 0.05 || share > 0.08 {
				t.Errorf("partition %d has %.3f of the rows", i, share)
			}
		}
	})
}
