package hostile

import (
	"cmp"
	"context"
	"database/sql"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/idgen/segment/segmentstore"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// mysqlSegments and postgresSegments are settings under which two programs draw numbers
// from one segment. They make it possible for a statement to be acknowledged but never
// committed.
func mysqlSegments() []row {
	set := func(statements ...string) session { return session{init: statements} }
	return selected([]row{
		{name: "defaults"},
		{fast: true, name: "autocommit=0", session: set("SET autocommit = 0")},
		{name: "completion_type=CHAIN", session: set("SET completion_type = 'CHAIN'"), app: oneTransaction},
		{fast: true, name: "completion_type=CHAIN, one transaction", session: set("SET completion_type = 'CHAIN'"), app: once(oneTransaction)},
		{name: "autocommit=0 and completion_type=CHAIN", session: set("SET completion_type = 'CHAIN'", "SET autocommit = 0"), app: oneTransaction},
		{name: "autocommit=0 and completion_type=RELEASE", session: set("SET completion_type = 'RELEASE'", "SET autocommit = 0"), app: oneTransaction},
		{name: "transactions left open", app: leavesOpen("START TRANSACTION")},
		{name: "one transaction left open", app: once(leavesOpen("START TRANSACTION"))},
		{fast: true, name: "one XA transaction left open", app: once(leavesXA)},
		{name: "isolation SERIALIZABLE and autocommit=0", session: set("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SET autocommit = 0")},
		{name: "clientFoundRows", session: session{dsn: "clientFoundRows=true"}},
		{fast: true, name: "latin1 and utf8mb4, name beyond ASCII", session: set("SET NAMES latin1"), ofB: &session{}, space: "größe", want: worksOrRefused, names: "character"},
		{name: "sql_mode=''", session: set("SET sql_mode = ''")},
		{name: "sql_mode=ORACLE", session: set("SET sql_mode = 'ORACLE'"), only: "mariadb"},
		{name: "sql_mode=EMPTY_STRING_IS_NULL", session: set("SET sql_mode = 'EMPTY_STRING_IS_NULL'"), only: "mariadb"},
		{name: "sql_mode=SIMULTANEOUS_ASSIGNMENT", session: set("SET sql_mode = 'SIMULTANEOUS_ASSIGNMENT'"), only: "mariadb"},
	})
}

func postgresSegments() []row {
	set := func(statements ...string) session { return session{init: statements} }
	likePQ := session{noReset: true}
	return selected([]row{
		{name: "defaults"},
		{name: "transactions left open", session: likePQ, app: leavesOpen("BEGIN")},
		{name: "one transaction left open", session: likePQ, app: once(leavesOpen("BEGIN"))},
		{fast: true, name: "one failed transaction left open", session: likePQ, app: once(leavesOpen("BEGIN; SELECT 1/0"))},
		{fast: true, name: "one transaction left open, simple protocol", app: once(leavesOpen("BEGIN")),
			session: session{noReset: true, dsn: "default_query_exec_mode=simple_protocol"}},
		{name: "one transaction left open, reset by pgx", app: once(leavesOpen("BEGIN"))},
		{name: "client_encoding LATIN1 and UTF8, name beyond ASCII", session: set("SET client_encoding = 'LATIN1'"), ofB: &session{}, space: "größe", want: worksOrRefused, names: "encoding"},
		{name: "isolation serializable", session: set("SET default_transaction_isolation = 'serializable'")},
		{name: "synchronous_commit=off", session: set("SET synchronous_commit = off")},
	})
}

// testSegment lets two programs draw 50 numbers at a time. Both must get numbers, and
// there must be no duplicates.
func (r row) testSegment(t *testing.T, server dbtest.DB) {
	if r.only == "mariadb" && !server.MariaDB || r.only == "mysql" && server.MariaDB {
		t.Skipf("%s does not have this setting", server.Version)
	}
	db := newDatabase(t, server)
	if err := segmentStores[db.Dialect](db.Connect(t)).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	draws := 12
	if dbtest.Nightly {
		draws = 40
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var mu sync.Mutex
	var all []int64
	var wg sync.WaitGroup
	for _, name := range []string{"A", "B"} {
		as := r.session
		if name == "B" && r.ofB != nil {
			as = *r.ofB
		}
		pool := as.connect(t, db)
		s, err := segment.New(segmentStores[db.Dialect](pool), segment.Config{
			Name: cmp.Or(r.space, "numbers"), MinStep: 50, MaxStep: 50, Timeout: 2 * time.Second, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			defer s.Close(context.WithoutCancel(ctx))
			for i := range draws {
				if r.app != nil && i%4 == 0 {
					_ = r.app(ctx, pool) // ignore errors, which are those of the application
				}
				numbers, err := s.Append(ctx, nil, 50)
				if err != nil {
					if r.want == works || !strings.Contains(strings.ToLower(err.Error()), r.names) {
						t.Errorf("program %s: %v", name, err)
					}
					return
				}
				mu.Lock()
				all = append(all, numbers...)
				mu.Unlock()
				sleep(ctx, recycled/6)
			}
		})
	}
	wg.Wait()
	slices.Sort(all)
	total := len(all)
	distinct := len(slices.Compact(all))
	if total > distinct {
		t.Errorf("%d duplicates among %d numbers", total-distinct, total)
	} else {
		t.Logf("0 duplicates among %d numbers", total)
	}
}

var segmentStores = map[string]func(*sql.DB) *segmentstore.Store{"postgres": segmentstore.Postgres, "mysql": segmentstore.MySQL}
