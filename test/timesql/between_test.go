package timesql

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/glebarez/sqlite"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/mysqldialect"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// An event is a row of a table that is partitioned by key, where the database can do that.
type event struct {
	ID      pk.ID `bun:",pk"`
	Payload string
}

// TestBetweenInORMs queries rows by the time in their key, and pages of them, with the
// conditions that each ORM has. The plans use the index of the key, and of the partitions
// only the one of the month.
func TestBetweenInORMs(t *testing.T) {
	t.Parallel()
	layout := idgen.DefaultLayout()
	october, november, december := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	first, last := layout.Between(november, december)
	const n = 20 // rows of a page
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		conn := db.Connect(t)
		middle, _ := layout.Between(october, november)
		switch {
		case db.Dialect == "sqlite":
			dbtest.Exec(t, conn, "CREATE TABLE events (id BIGINT PRIMARY KEY, payload TEXT)")
		case db.Dialect == "postgres":
			dbtest.Exec(t, conn, "CREATE TABLE events (id BIGINT PRIMARY KEY, payload TEXT) PARTITION BY RANGE (id)",
				fmt.Sprintf("CREATE TABLE events_2026_10 PARTITION OF events FOR VALUES FROM (%d) TO (%d)", middle, first),
				fmt.Sprintf("CREATE TABLE events_2026_11 PARTITION OF events FOR VALUES FROM (%d) TO (%d)", first, last+1),
				fmt.Sprintf("CREATE TABLE events_2026_12 PARTITION OF events FOR VALUES FROM (%d) TO (MAXVALUE)", last+1))
		default:
			dbtest.Exec(t, conn, fmt.Sprintf("CREATE TABLE events (id BIGINT PRIMARY KEY, payload VARCHAR(9)) PARTITION BY RANGE (id) "+
				"(PARTITION events_2026_10 VALUES LESS THAN (%d), PARTITION events_2026_11 VALUES LESS THAN (%d), PARTITION events_2026_12 VALUES LESS THAN MAXVALUE)", first, last+1))
		}
		var ids []int64 // in pairs around the bounds, and in the month
		for _, at := range []time.Time{november.Add(-time.Millisecond), november, november.Add(time.Hour), december.Add(-time.Millisecond), december} {
			a, b := pair(t, at)
			ids = append(ids, a, b)
		}
		for at := november.Add(2 * time.Hour); len(ids) < 1000; at = at.Add(time.Minute) {
			a, b := pair(t, at)
			ids = append(ids, a, b)
		}
		values := make([]string, len(ids))
		for i, id := range ids {
			values[i] = fmt.Sprintf("(%d, 'x')", id)
		}
		dbtest.Exec(t, conn, "INSERT INTO events (id, payload) VALUES "+strings.Join(values, ", "), map[string]string{
			"sqlite": "ANALYZE", "postgres": "ANALYZE events", "mysql": "ANALYZE TABLE events"}[db.Dialect])
		slices.Sort(ids)
		inMonth := ids[2 : len(ids)-2]

		gormDB := dbtest.Must(gorm.Open(map[string]gorm.Dialector{
			"sqlite": &sqlite.Dialector{Conn: conn}, "postgres": postgres.New(postgres.Config{Conn: conn}), "mysql": mysql.New(mysql.Config{Conn: conn}),
		}[db.Dialect], &gorm.Config{Logger: logger.Discard}))(t)
		bunDB := bun.NewDB(conn, map[string]schema.Dialect{"sqlite": sqlitedialect.New(), "postgres": pgdialect.New(), "mysql": mysqldialect.New()}[db.Dialect])

		// Each returns the SQL for the rows of the month, and for a page after an id.
		for orm, queries := range map[string]func(after int64) (month, page string, args [2][]any){
			"gorm": func(after int64) (month, page string, _ [2][]any) {
				month = gormDB.ToSQL(func(tx *gorm.DB) *gorm.DB {
					return tx.Where("id BETWEEN ? AND ?", first, last).Find(&[]event{})
				})
				page = gormDB.ToSQL(func(tx *gorm.DB) *gorm.DB {
					return tx.Where("id > ? AND id <= ?", after, last).Order("id").Limit(n).Find(&[]event{})
				})
				return month, page, [2][]any{}
			},
			"bun": func(after int64) (month, page string, _ [2][]any) {
				month = bunDB.NewSelect().Model((*event)(nil)).Where("id BETWEEN ? AND ?", first, last).String()
				page = bunDB.NewSelect().Model((*event)(nil)).Where("id > ? AND id <= ?", after, last).Order("id").Limit(n).String()
				return month, page, [2][]any{}
			},
			"ent": func(after int64) (month, page string, args [2][]any) { // what event.IDGTE and IDLTE generate
				from := func() *entsql.Selector {
					return entsql.Dialect(map[string]string{"sqlite": "sqlite3", "postgres": "postgres", "mysql": "mysql"}[db.Dialect]).Select("id", "payload").From(entsql.Table("events"))
				}
				month, args[0] = from().Where(entsql.And(entsql.GTE("id", pk.ID(first)), entsql.LTE("id", pk.ID(last)))).Query()
				page, args[1] = from().Where(entsql.And(entsql.GT("id", pk.ID(after)), entsql.LTE("id", pk.ID(last)))).OrderBy("id").Limit(n).Query()
				return month, page, args
			},
		} {
			month, page, args := queries(inMonth[9])
			if got := keysOf(t, conn, month, args[0]); !slices.Equal(got, inMonth) {
				t.Errorf("%s: %s\nfinds %d rows, not the %d of the month", orm, month, len(got), len(inMonth))
			}
			if got := keysOf(t, conn, page, args[1]); !slices.Equal(got, inMonth[10:10+n]) {
				t.Errorf("%s: %s\nfinds %v, want %v", orm, page, got, inMonth[10:10+n])
			}
			checkPlan(t, db, conn, month, args[0])
			checkPlan(t, db, conn, page, args[1])
		}
	})
}

// keysOf returns the first column of a query, sorted unless the query sorts it.
func keysOf(t *testing.T, conn *sql.DB, query string, args []any) (keys []int64) {
	t.Helper()
	rows := dbtest.Must(conn.QueryContext(t.Context(), query, args...))(t)
	defer rows.Close()
	for rows.Next() {
		var key int64
		var payload string
		dbtest.NoError(t, rows.Scan(&key, &payload))
		keys = append(keys, key)
	}
	dbtest.NoError(t, rows.Err())
	if !strings.Contains(query, "ORDER BY") {
		slices.Sort(keys)
	}
	return keys
}

// checkPlan checks that a query reads no other partition than that of November, and that it
// uses the key's index where it reads a part of that.
func checkPlan(t *testing.T, db dbtest.DB, conn *sql.DB, query string, args []any) {
	t.Helper()
	explain := "EXPLAIN "
	switch {
	case db.Dialect == "sqlite":
		explain = "EXPLAIN QUERY PLAN "
	case db.MariaDB:
		explain = "EXPLAIN PARTITIONS "
	case db.Dialect == "mysql":
		explain = "EXPLAIN FORMAT=TRADITIONAL "
	}
	plan := planOf(t, conn, explain+query, args)
	index := map[string]string{"sqlite": "USING INDEX sqlite_autoindex_events_1 (id>", "postgres": "_pkey", "mysql": "PRIMARY PRIMARY"}[db.Dialect]
	whole := !strings.Contains(query, "LIMIT") // almost all rows of a partition, without the index
	if !strings.Contains(plan, index) && !whole {
		t.Errorf("%s\nuses another index than that of the key:\n%s", query, plan)
	}
	if db.Dialect != "sqlite" && (!strings.Contains(plan, "events_2026_11") || strings.Contains(plan, "events_2026_10") || strings.Contains(plan, "events_2026_12")) {
		t.Errorf("%s\nreads other partitions:\n%s", query, plan)
	}
}

func planOf(t *testing.T, conn *sql.DB, query string, args []any) string {
	t.Helper()
	rows := dbtest.Must(conn.QueryContext(t.Context(), query, args...))(t)
	defer rows.Close()
	columns := dbtest.Must(rows.Columns())(t)
	var b strings.Builder
	for rows.Next() {
		cells, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		dbtest.NoError(t, rows.Scan(into...))
		for _, c := range cells {
			b.WriteString(c.String + " ")
		}
		b.WriteByte('\n')
	}
	dbtest.NoError(t, rows.Err())
	return b.String()
}
