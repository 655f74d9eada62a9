package sqlstore_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/idgen/segment/segmentstore"
	"github.com/snowkey-go/snowkey/idgen/segment/segmenttest"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/tokentest"
	"github.com/snowkey-go/snowkey/token"
	"github.com/snowkey-go/snowkey/token/sqltoken"
)

// base is above 2^53, so we notice if a number has been converted to a float.
const base int64 = 1<<53 + 1

// segmentsOf returns a store that uses the default table.
func segmentsOf(db dbtest.DB, conn *sql.DB) *segmentstore.Store {
	return map[string]func(*sql.DB) *segmentstore.Store{
		"postgres": segmentstore.Postgres, "mysql": segmentstore.MySQL, "sqlite": segmentstore.SQLite,
	}[db.Dialect](conn)
}

// openSegments returns a store for a table, which it creates.
func openSegments(t *testing.T, db dbtest.DB, conn *sql.DB, table string) *segmentstore.Store {
	t.Helper()
	store := dbtest.Must(segmentsOf(db, conn).WithTable(table))(t)
	dbtest.NoError(t, store.Migrate(t.Context()))
	return store
}

// fetch fetches numbers of the segment "orders" from base on.
func fetch(t *testing.T, store segment.Store, span int64) (start int64, err error) {
	return store.Fetch(t.Context(), segment.Fetch{Name: "orders", Min: base, Limit: 1 << 62, Span: span})
}

func fetches(t *testing.T, store segment.Store, span, want int64) {
	t.Helper()
	if start, err := fetch(t, store, span); start != want || err != nil {
		t.Errorf("granted from %d on, %v; want %d", start, err, want)
	}
}

// segments runs the conformance suite of segments, with a table for each property. The names
// of the tables need quotes.
func segments(t *testing.T, db dbtest.DB, conn *sql.DB) {
	t.Helper()
	tables := 0
	segmenttest.Run(t, func(t *testing.T) segment.Store {
		tables++
		return openSegments(t, db, conn, fmt.Sprint("Select", tables))
	})
}

// sessions runs the conformance suite of sessions. Test/sqltoken has more tests of them.
func sessions(t *testing.T, db dbtest.DB, conn *sql.DB) {
	t.Helper()
	tables := 0
	tokentest.Run(t, func(t *testing.T) token.Store {
		tables++
		store := dbtest.Must(map[string]func(*sql.DB) *sqltoken.Store{
			"postgres": sqltoken.Postgres, "mysql": sqltoken.MySQL, "sqlite": sqltoken.SQLite,
		}[db.Dialect](conn).WithTable(fmt.Sprint("session", tables)))(t)
		dbtest.NoError(t, store.Migrate(t.Context()))
		return store
	}, nil)
}

// A reply is lost at each place of a fetch. The numbers that were granted are skipped, and
// none is granted a second time.
func TestSegmentsWithLostReplies(t *testing.T) {
	t.Parallel()
	eachConnection(t, func(t *testing.T, db dbtest.DB) {
		plain := openSegments(t, db, db.Connect(t), "segment")
		led, proxy := db.Through(t)
		conn := led.Connect(t)
		calls, lost, end := int64(0), 0, base
		for n := range 24 {
			reply := proxy.LoseReply(1 + n%6)
			start, err := fetch(t, dbtest.Must(segmentsOf(led, conn).WithTable("segment"))(t), 10)
			if calls++; err == nil && (start < end || (start-base)%10 != 0) {
				t.Errorf("granted from %d on after %d", start, end-1)
			} else if err == nil {
				end = start + 10
			}
			select {
			case <-reply:
				lost++
			default:
			}
		}
		if start, err := fetch(t, plain, 10); err != nil || start < end || start > base+10*calls {
			t.Errorf("after %d calls, granted from %d on, %v", calls, start, err)
		}
		if lost < 4 {
			t.Errorf("only %d replies were lost", lost)
		}
	})
}

// Test/sqltoken creates tables of the same package from several connections at once.
func TestMigrateSegments(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		store := segmentsOf(db, db.Connect(t))
		if start, err := fetch(t, store, 10); err == nil || !strings.Contains(err.Error(), "snowkey_segment") {
			t.Errorf("without a table: %d, %v", start, err)
		}
		for round := range int64(2) {
			dbtest.NoError(t, store.Migrate(t.Context()))
			fetches(t, store, 10, base+10*round)
		}
	})
}

func TestSegmentsWithoutADatabase(t *testing.T) {
	store := segmentstore.Postgres(nil)
	_, fetched := fetch(t, store, 10)
	for i, err := range []error{fetched, store.Migrate(t.Context())} {
		if err == nil || !strings.HasPrefix(err.Error(), "segmentstore: there is no database") {
			t.Errorf("method %d: %v", i, err)
		}
	}
}
