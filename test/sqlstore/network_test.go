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

// A network is a store behind a proxy, along with a direct connection to the same rows.
// It's used for a single call, to which we do harm.
type network struct {
	*testing.T
	through, past *operated
	terms         lease.Terms
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

func (n *network) state() state {
	n.Helper()
	p := dbtest.Must(n.past.Probe(n.Context(), lease.Query{Terms: n.terms, Max: 1023}))(n)
	rows := dbtest.Must(n.past.Rows(n.Context(), n.terms, 0, 1023))(n)
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

// An effect reports whether a call took effect exactly once between two states.
type effect func(before, after state) bool

// An operation is a call of a store that changes something.
type operation struct {
	name string
	// prepare creates everything that the call requires, and returns the call and its
	// effect.
	prepare func(n *network) (call func(context.Context) error, done effect)
}

var operations = []operation{
	{"CreateNamespace", func(n *network) (func(context.Context) error, effect) {
		return func(ctx context.Context) error { _, err := n.through.CreateNamespace(ctx, n.terms, 0); return err },
			func(before, after state) bool {
				return after.exists && after.since(before, func(now int64) int64 { return n.terms.At(now).NewFence }, after.fence)
			}
	}},
	{"AddRows", func(n *network) (func(context.Context) error, effect) {
		n.create()
		return func(ctx context.Context) error { return n.through.AddRows(ctx, n.terms, 7, 8) },
			func(before, after state) bool {
				return after.rows == 2 && after.row.Worker == 7 && after.since(before, capOf(n.terms), after.row.Bound)
			}
	}},
	{"Fence", func(n *network) (func(context.Context) error, effect) {
		n.create()
		dbtest.NoError(n, n.past.SetFingerprint(n.Context(), n.terms, "another database"))
		n.terms.Ahead *= 2
		return func(ctx context.Context) error { return n.through.Fence(ctx, n.terms, "another database") },
			func(before, after state) bool {
				return after.fingerprint != before.fingerprint && after.since(before, func(now int64) int64 { return n.terms.At(now).RaisedFence }, after.fence)
			}
	}},
	{"Claim", func(n *network) (func(context.Context) error, effect) {
		c := n.claimOf(n.free(), "harmed")
		return func(ctx context.Context) error { _, _, err := n.through.Claim(ctx, c); return err },
			func(before, after state) bool { return after.granted(before, n.terms, c.Token) }
	}},
	{"Renew", func(n *network) (func(context.Context) error, effect) {
		r := lease.Renewal{Terms: n.terms, Held: n.claim(n.claimOf(n.free(), "first")), Token: "harmed", Wanted: 1 << 62, Volatile: true}
		return func(ctx context.Context) error { _, _, err := n.through.Renew(ctx, r); return err },
			func(before, after state) bool { return after.granted(before, n.terms, r.Token) }
	}},
	{"Release", func(n *network) (func(context.Context) error, effect) {
		const unused = 7
		held := n.claim(n.claimOf(n.free(), "first"))
		return func(ctx context.Context) error { _, err := n.through.Release(ctx, n.terms, held, unused); return err },
			func(before, after state) bool {
				return after.row.Token == "" && after.row.Bound == unused && after.row.Revision == before.row.Revision+1
			}
	}},
}

func (n *network) create() {
	n.Helper()
	dbtest.Must(n.past.CreateNamespace(n.Context(), n.terms, 0))(n)
}

// free returns a row that is free.
func (n *network) free() lease.Row {
	n.Helper()
	n.create()
	dbtest.NoError(n, n.past.AddRows(n.Context(), n.terms, 0, 0))
	return n.state().row
}

func (n *network) claimOf(seen lease.Row, token string) lease.Claim {
	n.Helper()
	return lease.Claim{Terms: n.terms, Seen: seen, Fence: n.state().fence, Token: token, Wanted: 1 << 62, Volatile: true}
}

func (n *network) claim(c lease.Claim) lease.Row {
	n.Helper()
	row, ok, err := n.past.Claim(n.Context(), c)
	if !ok || err != nil {
		n.Fatal("not claimed:", ok, err)
	}
	return row
}

// Each operation loses its first reply, then another one its second reply, and so on, each
// in another namespace. The row must be as if the call had either succeeded or not been made
// at all.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	eachConnection(t, func(t *testing.T, db dbtest.DB) {
		past := open(t, db, db.Connect(t), "lease")
		dbtest.NoError(t, past.Migrate(t.Context()))
		for _, o := range operations {
			t.Run(o.name, func(t *testing.T) {
				secrets := 0 // calls that had their effect and returned an error
				for n, harmed := 1, true; harmed; n++ {
					// Use a new network too, because the last one may still be closing
					// its connections.
					led, proxy := db.Through(t)
					nw := &network{T: t, past: past, through: open(t, led, led.Connect(t), "lease"), terms: terms}
					dbtest.NoError(nw, nw.through.Migrate(t.Context())) // the first call also queries some properties of the server
					nw.terms.Namespace = fmt.Sprint(o.name, n)
					call, done := o.prepare(nw)
					before := nw.state()
					lost := proxy.LoseReply(n)
					err := call(nw.Context())
					after := nw.state()
					if had := done(before, after); !had && (err == nil || !after.same(before)) {
						nw.Errorf("without reply %d the call said %v, and %+v became %+v", n, err, before, after)
					} else if had && err != nil {
						secrets++
					}
					select {
					case <-lost:
					default:
						dbtest.NoError(nw, err)
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
