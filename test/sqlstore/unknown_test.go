package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// known finds what a statement reads of the server, apart from the store's own tables:
// variables, functions, catalogs, and columns of catalogs. Compatible servers don't have
// all of it.
var known = map[string]*regexp.Regexp{
	"postgres": regexp.MustCompile(`\b(pg_\w+|to_regclass|regclass|row_security_active|txid_current|xmin|rel[a-z]+|tg[a-z]+|ev_[a-z]+|ad[a-z]+|att[a-z]+)\b`),
	"mysql":    regexp.MustCompile(`@@[a-z_]+|(information|performance)_schema\.[a-z_]+`),
}

// These are read by one of the two only.
var (
	ofMySQL   = []string{"@@server_uuid", "performance_schema.global_variables"}
	ofMariaDB = []string{"@@hostname", "@@port", "@@server_id", "@@wsrep_on", "@@wsrep_provider"}
)

// ofClusters only tell to which cluster the server belongs. A server without them belongs
// to none.
var ofClusters = []string{"performance_schema.global_variables", "@@wsrep_on", "@@wsrep_provider"}

// A guise makes a server look as if it didn't know some names.
type guise struct {
	names   *regexp.Regexp
	unknown func(name string) bool

	mu      sync.Mutex
	seen    map[string]bool
	renamed int
}

func (g *guise) edit(request []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, at := range g.names.FindAllIndex(request, -1) {
		name := string(request[at[0]:at[1]])
		g.seen[name] = true
		if g.unknown(name) {
			request[at[1]-1] = 'q' // no name ends in q
			g.renamed++
		}
	}
}

// disguise returns a connection to the server under a guise.
func disguise(t *testing.T, db dbtest.DB, unknown func(name string) bool) (*sql.DB, *guise) {
	t.Helper()
	through, proxy := db.Through(t)
	g := &guise{names: known[db.Dialect], unknown: unknown, seen: make(map[string]bool)}
	proxy.Edit(g.edit)
	if db.Dialect == "mysql" {
		through = through.With("interpolateParams=true")
	}
	return through.Connect(t), g
}

// everything does all that a process does with a store, and the doctor too. It returns
// whether the store says that it may lose commits.
func everything(t *testing.T, store *operated, namespace string) (volatile bool) {
	t.Helper()
	cfg := snowkey.Config{Namespace: namespace, MaxClockSkew: 20 * time.Millisecond, Window: time.Second}
	seen := make(map[int64]bool)
	for range 2 {
		pool := dbtest.Must(snowkey.Open(t.Context(), store, cfg))(t)
		ids := dbtest.Must(pool.NextN(t.Context(), 2))(t)
		for _, id := range ids {
			if seen[id] {
				t.Errorf("%d came twice", id)
			}
			seen[id] = true
		}
		if err := pool.Close(context.Background()); err != nil && !errors.Is(err, context.DeadlineExceeded) { // on a busy machine
			t.Error(err)
		}
	}
	findings := dbtest.Must(snowkey.Doctor(t.Context(), store, cfg))(t)
	dbtest.NoError(t, snowkey.Fence(t.Context(), store, cfg))
	for _, f := range findings {
		if f.Kind == "volatile" {
			volatile = true
		} else {
			t.Errorf("the doctor found %v", f)
		}
	}
	return volatile
}

// What a server doesn't know is unknown, and not an error. If it is something by which we
// recognize the server or its durability, each new lease must hold off.
func unknownNames(t *testing.T, db dbtest.DB) {
	conn, g := disguise(t, db, func(string) bool { return false })
	store := open(t, db, conn, "lease")
	if everything(t, store, "all known") {
		t.Error("the server is volatile, so that this test shows nothing")
	}
	all := slices.Sorted(maps.Keys(g.seen))
	conn, g = disguise(t, db, func(string) bool { return false }) // on which no statement is prepared yet
	store = open(t, db, conn, "lease")
	probe(t, store)
	dbtest.Must(store.CreateNamespace(t.Context(), terms, 0))(t)
	probed := g.seen
	if len(all) < 9 || len(probed) < 4 || len(probed) == len(all) {
		t.Fatalf("the statements read only %q, and a probe %q", all, slices.Sorted(maps.Keys(probed)))
	}
	for _, name := range all {
		switch {
		case name == "@@autocommit":
			continue // all servers have it, and without it we couldn't tell whether writes are committed
		case db.MariaDB && slices.Contains(ofMySQL, name), !db.MariaDB && slices.Contains(ofMariaDB, name):
			continue // it is in a comment that this server doesn't execute
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, g := disguise(t, db, func(s string) bool { return s == name })
			volatile := everything(t, open(t, db, conn, "lease"), name)
			if want := probed[name] && !slices.Contains(ofClusters, name); volatile != want {
				t.Errorf("volatile: %v, want %v", volatile, want)
			}
			if g.renamed == 0 {
				t.Error("no statement reads it")
			}
		})
	}
}
