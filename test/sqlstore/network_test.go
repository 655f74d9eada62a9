package sqlstore_test

import (
	"context"
	"flag"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
)

func TestMain(m *testing.M) {
	mysql.SetLogger(&mysql.NopLogger{}) // it would log every connection that these tests break
	flag.Parse()
	flag.Set("test.parallel", "12") // whatever the number of processors, since most of these tests wait
	m.Run()
}

// eachConnection runs a test on each database server, with connections on which a statement
// takes one round trip, and with those that prepare it first.
func eachConnection(t *testing.T, test func(t *testing.T, db dbtest.DB)) {
	for _, dialect := range dbtest.Servers(t) {
		for _, settings := range map[string][]string{
			"postgres": {"default_query_exec_mode=exec", "default_query_exec_mode=cache_statement"},
			"mysql":    {"interpolateParams=true", "interpolateParams=false"},
		}[dialect] {
			t.Run(dialect+" "+settings, func(t *testing.T) {
				t.Parallel()
				test(t, dbtest.Open(t, dialect).With(settings))
			})
		}
	}
}

// A state is everything that the store has about a namespace with at most one row.
type state struct {
	exists      bool
	fence       int64
	fingerprint string
	rows        int
	row         lease.Row
	now         int64
}

func stateOf(t *testing.T, store lease.Store, terms lease.Terms) state {
	t.Helper()
	p := probeOf(t, store, terms)
	rows := dbtest.Must(store.Rows(t.Context(), terms, 0, 1023))(t)
	s := state{exists: p.HasNamespace, fence: p.Fence, fingerprint: p.Fingerprint, rows: len(rows), now: p.Now}
	if len(rows) > 0 {
		s.row = rows[0]
		s.row.Now = 0
	}
	return s
}

// same reports whether two states are the same, apart from the time.
func (s state) same(other state) bool {
	s.now, other.now = 0, 0
	return s == other
}

// since reports whether n is the value that a function had at some time between two
// states.
func (s state) since(before state, at func(now int64) int64, n int64) bool {
	return at(before.now) <= n && n <= at(s.now)
}

func capOf(terms lease.Terms) func(now int64) int64 {
	return func(now int64) int64 { return terms.At(now).Cap }
}

// granted reports whether the row was changed by a claim or renewal with this token.
func (s state) granted(before state, terms lease.Terms, token string) bool {
	return s.rows == 1 && s.row.Token == token && s.row.Revision == before.row.Revision+1 &&
		s.since(before, capOf(terms), s.row.Bound) && s.since(before, func(now int64) int64 { return now + terms.TTL }, s.row.Expires)
}

type (
	call   func(context.Context) error
	effect func(before, after state) bool
)

// An operation is a call of a store that changes something. prepare creates what the call
// requires, directly in the database. It returns the call, to which we do harm, and whether
// that took effect exactly once between two states.
type operation struct {
	name    string
	prepare func(t *testing.T, direct, through lease.Store, terms lease.Terms) (call, effect)
}

var operations = []operation{
	{"CreateNamespace", func(_ *testing.T, _, through lease.Store, terms lease.Terms) (call, effect) {
		return func(ctx context.Context) error { _, err := through.CreateNamespace(ctx, terms, 0); return err },
			func(before, after state) bool {
				return after.exists && after.since(before, func(now int64) int64 { return terms.At(now).NewFence }, after.fence)
			}
	}},
	{"AddRows", func(t *testing.T, direct, through lease.Store, terms lease.Terms) (call, effect) {
		dbtest.Must(direct.CreateNamespace(t.Context(), terms, 0))(t)
		return func(ctx context.Context) error { return through.AddRows(ctx, terms, 7, 8) },
			func(before, after state) bool {
				return after.rows == 2 && after.row.Worker == 7 && after.since(before, capOf(terms), after.row.Bound)
			}
	}},
	{"Fence", func(t *testing.T, direct, through lease.Store, terms lease.Terms) (call, effect) {
		dbtest.Must(direct.CreateNamespace(t.Context(), terms, 0))(t)
		dbtest.NoError(t, direct.(*operated).SetFingerprint(t.Context(), terms, "another database"))
		terms.Ahead *= 2
		return func(ctx context.Context) error { return through.Fence(ctx, terms, "another database") },
			func(before, after state) bool {
				return after.fingerprint != before.fingerprint && after.since(before, func(now int64) int64 { return terms.At(now).RaisedFence }, after.fence)
			}
	}},
	{"Claim", func(t *testing.T, direct, through lease.Store, terms lease.Terms) (call, effect) {
		c := freeOf(t, direct, terms)
		return func(ctx context.Context) error { _, _, err := through.Claim(ctx, c); return err },
			func(before, after state) bool { return after.granted(before, terms, c.Token) }
	}},
	{"Renew", func(t *testing.T, direct, through lease.Store, terms lease.Terms) (call, effect) {
		c := freeOf(t, direct, terms)
		r := lease.Renewal{Terms: terms, Held: granted(t, direct, c), Token: "harmed", Wanted: 1 << 62, Volatile: c.Volatile}
		return func(ctx context.Context) error { _, _, err := through.Renew(ctx, r); return err },
			func(before, after state) bool { return after.granted(before, terms, r.Token) }
	}},
	{"Release", func(t *testing.T, direct, through lease.Store, terms lease.Terms) (call, effect) {
		const unused = 7
		held := granted(t, direct, freeOf(t, direct, terms))
		return func(ctx context.Context) error { _, err := through.Release(ctx, terms, held, unused); return err },
			func(before, after state) bool {
				return after.row.Token == "" && after.row.Bound == unused && after.row.Revision == before.row.Revision+1
			}
	}},
}

// Each operation loses its first reply, then another one its second reply, and so on, each
// in another namespace. The row must be as if the call had either succeeded or not been made
// at all.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	eachConnection(t, func(t *testing.T, db dbtest.DB) {
		direct := open(t, db, db.Connect(t), "lease")
		dbtest.NoError(t, direct.Migrate(t.Context()))
		for _, o := range operations {
			t.Run(o.name, func(t *testing.T) {
				secrets := 0 // calls that had their effect and returned an error
				for n, harmed := 1, true; harmed; n++ {
					// Use a new network too, because the last one may still be closing
					// its connections.
					led, proxy := db.Through(t)
					through := open(t, led, led.Connect(t), "lease")
					dbtest.NoError(t, through.Migrate(t.Context())) // the first call also queries some properties of the server
					terms := terms
					terms.Namespace = fmt.Sprint(o.name, n)
					call, done := o.prepare(t, direct, through, terms)
					before := stateOf(t, direct, terms)
					lost := proxy.LoseReply(n)
					err := call(t.Context())
					after := stateOf(t, direct, terms)
					if had := done(before, after); !had && (err == nil || !after.same(before)) {
						t.Errorf("without reply %d the call said %v, and %+v became %+v", n, err, before, after)
					} else if had && err != nil {
						secrets++
					}
					select {
					case <-lost:
					default:
						dbtest.NoError(t, err)
						harmed = false
					}
					const most = 20
					if n == most {
						t.Fatalf("a call takes more than %d replies", most)
					}
				}
				if secrets == 0 {
					t.Error("no call had its effect without its caller's knowledge, so that this test shows nothing")
				}
			})
		}
	})
}
