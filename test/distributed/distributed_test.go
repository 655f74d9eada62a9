// Package distributed tests what docs/stores.md says about ascending ids in hash
// partitions.
package distributed

import (
	"database/sql"
	"fmt"
	"math/bits"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/glebarez/go-sqlite"
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

const partitions = 16

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

// workers are used once each, because a generator starts above the ids of earlier ones
// with the same worker number.
var workers int64

// draw returns n ids, one in each millisecond if slow is set.
func draw(t *testing.T, n int, slow, noSpread bool) []int64 {
	t.Helper()
	now := time.Now()
	workers++
	pool := dbtest.Must(idgen.NewPool(idgen.Config{Worker: worker.Static(workers), NoSpread: noSpread, Clock: func() time.Time { return now }}))(t)
	defer pool.Close(t.Context())
	var ids []int64
	for range n {
		ids = append(ids, dbtest.Must(pool.Next(t.Context()))(t))
		if slow {
			now = now.Add(time.Millisecond)
		} else if len(ids)%1000 == 0 {
			now = now.Add(time.Millisecond)
		}
	}
	return ids
}

// share returns the smallest and the largest share of the ids that one of 16 places gets.
func share(ids []int64, place func(int64) int64) (least, most float64) {
	counts := make([]int, partitions)
	for _, id := range ids {
		counts[place(id)]++
	}
	least = 1
	for _, n := range counts {
		least = min(least, float64(n)/float64(len(ids)))
		most = max(most, float64(n)/float64(len(ids)))
	}
	return least, most
}

// TestPlaces checks where ids go by their remainder, and by the first bits of the reversed
// id.
func TestPlaces(t *testing.T) {
	places := map[string]func(int64) int64{
		"remainder": func(id int64) int64 { return id % partitions },
		"reversed":  func(id int64) int64 { return int64(bits.Reverse64(uint64(id)) >> 60) },
	}
	for name, place := range places {
		for _, slow := range []bool{false, true} {
			if least, most := share(draw(t, 16_000, slow, false), place); least < 0.05 || most > 0.08 {
				t.Errorf("%s, slow %v: places get %.3f to %.3f of the ids", name, slow, least, most)
			}
		}
		if _, most := share(draw(t, 16_000, true, true), place); most < 1 {
			t.Errorf("%s, NoSpread: no place gets all ids, but at most %.3f", name, most)
		}
	}
	// The first bits of the ids themselves put all of them in one place.
	if _, most := share(draw(t, 16_000, true, false), func(id int64) int64 { return id >> 59 }); most < 1 {
		t.Errorf("first bits: at most %.3f", most)
	}
}

func TestPartitions(t *testing.T) {
	dbtest.EachServer(t, func(t *testing.T, db dbtest.DB) {
		conn := db.Connect(t)
		if db.Dialect == "postgres" {
			dbtest.Exec(t, conn, block(t, "PostgreSQL"))
			for i := range partitions {
				dbtest.Exec(t, conn, fmt.Sprintf("CREATE TABLE orders_p%d PARTITION OF orders FOR VALUES WITH (MODULUS %d, REMAINDER %d)", i, partitions, i))
			}
		} else {
			dbtest.Exec(t, conn, block(t, "MySQL and MariaDB"))
		}
		ids := draw(t, 16_000, true, false)
		for some := range slices.Chunk(ids, 1000) {
			var rows []string
			for _, id := range some {
				rows = append(rows, fmt.Sprintf("(%d, 'x')", id))
			}
			dbtest.Exec(t, conn, "INSERT INTO orders (id, name) VALUES "+strings.Join(rows, ", "))
		}
		for place, n := range counts(t, conn, db) {
			if part := float64(n) / float64(len(ids)); part < 0.05 || part > 0.08 {
				t.Errorf("partition %s has %.3f of the rows", place, part)
			}
		}
		one := read(t, conn, db, fmt.Sprintf("SELECT name FROM orders WHERE id = %d", ids[77]))
		if len(one) != 1 {
			t.Errorf("a lookup reads the partitions %v", one)
		}
		all := read(t, conn, db, fmt.Sprintf("SELECT name FROM orders WHERE id >= %d AND id < %d", ids[77], ids[9000]))
		if len(all) != partitions {
			t.Errorf("a range reads the partitions %v", all)
		}
		if db.MariaDB { // KEY hashes the bytes, and puts most ascending ids into few partitions
			dbtest.Exec(t, conn, "ALTER TABLE orders PARTITION BY KEY (id) PARTITIONS 16")
			most := 0
			for _, n := range counts(t, conn, db) {
				most = max(most, n)
			}
			if part := float64(most) / float64(len(ids)); part < 0.3 {
				t.Errorf("PARTITION BY KEY puts at most %.3f of the rows into a partition", part)
			}
		}
		// Ids that differ by one are found, and the order is that of the inserts.
		var first, second int64
		if err := conn.QueryRow("SELECT MIN(id), MAX(id) FROM orders").Scan(&first, &second); err != nil || first != ids[0] || second != ids[len(ids)-1] {
			t.Errorf("the first id is %d and the last %d, %v; want %d and %d", first, second, err, ids[0], ids[len(ids)-1])
		}
		dbtest.Exec(t, conn, fmt.Sprintf("INSERT INTO orders (id, name) VALUES (%d, 'next')", ids[0]-1))
		var name string
		if err := conn.QueryRow(fmt.Sprintf("SELECT name FROM orders WHERE id = %d", ids[0]-1)).Scan(&name); err != nil || name != "next" {
			t.Errorf("the id below the first has the name %q, %v", name, err)
		}
	})
}

// counts returns the number of rows of each partition.
func counts(t *testing.T, conn *sql.DB, db dbtest.DB) map[string]int {
	t.Helper()
	all := make(map[string]int)
	for i := range partitions {
		table := fmt.Sprintf("orders_p%d", i)
		from := table
		if db.Dialect == "mysql" {
			from = fmt.Sprintf("orders PARTITION (p%d)", i)
		}
		all[table] = dbtest.Must(strconv.Atoi(dbtest.Rows(t, conn, "SELECT COUNT(*) FROM "+from)[0]))(t)
	}
	return all
}

// read returns the partitions that the plan of a query reads.
func read(t *testing.T, conn *sql.DB, db dbtest.DB, query string) map[string]bool {
	t.Helper()
	explain := "EXPLAIN "
	switch {
	case db.MariaDB:
		explain = "EXPLAIN PARTITIONS "
	case db.Dialect == "mysql":
		explain = "EXPLAIN FORMAT=TRADITIONAL " // MySQL 9 shows a tree otherwise
	}
	found := make(map[string]bool)
	for _, name := range regexp.MustCompile(`\bp\d+\b|orders_p\d+ `).FindAllString(strings.Join(dbtest.Rows(t, conn, explain+query), "\n"), -1) {
		found[strings.TrimSpace(name)] = true
	}
	return found
}
