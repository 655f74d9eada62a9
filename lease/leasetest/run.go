package leasetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
	"github.com/snowkey-go/snowkey/lease"
)

// Run tests that a store does what [lease.Store] requires. It calls open for each
// property, and expects to get an empty store that hasn't been migrated yet and is usable
// until t ends. The store should implement [Operator] as well, since some properties
// can't be tested without it.
//
// Run uses the store's own clock and doesn't wait for anything. When it needs an expired
// lease, it claims one with a negative TTL.
//
// If several rows are equally good, a probe must pick one at random. A store whose probes
// report [lease.Probe].OneClock must instead pick the one with the smallest worker number.
// It can lose a row only together with its namespace, so its new rows start in the current
// tick.
func Run(t *testing.T, open func(t *testing.T) lease.Store) {
	for _, p := range properties {
		t.Run(p.name, func(t *testing.T) {
			s := newSubject(t, open)
			s.Must(s.Migrate(t.Context()))
			p.check(s)
		})
	}
	t.Run("64 processes start on nothing", func(t *testing.T) { race(newSubject(t, open)) })
}

var properties = []struct {
	name  string
	check func(*subject)
}{
	{"a namespace is created once, and by CreateNamespace only", createOnce},
	{"bounds end with the tick that Ahead falls into", units},
	{"a layout is added by a process that has seen all others", secondLayout},
	{"a layout is added after others were deleted", layoutAfterDeletion},
	{"added rows start above everything that lost rows can have granted, and others are not changed", addedMany},
	{"a row is released with its first unused counter", released},
	{"a claim needs a free row, and a renewal a lease that has not expired", states},
	{"calls are refused if the row or its namespace is another than the caller has seen", refused},
	{"neither a claim nor a renewal lowers a bound, or grants more than requested", bounds},
	{"rows are those of a range, in the order of workers", ranges},
	{"a probe prefers PreferWorker, PreferLabel, and rows whose bound is not ahead of time", preferred},
	{"a waiting probe returns the row that becomes free first", probeWaiting},
	{"a fence is raised if the fingerprint is unchanged, and never lowered", fence},
	{"another database is detected and fenced", otherDatabase},
	{"namespaces are independent, and names may contain any characters", names},
	{"a call whose context has ended fails and has no effect", cancelled},
}

const everything = math.MaxInt64 // requests the largest bound that the cap allows

// lapsed is a TTL for leases that other processes can claim immediately.
const lapsed = -4_000_000

// A subject is a store under test. Most of its methods end the test if a call to the
// store returns an error.
type subject struct {
	kvtest.Process
	terms lease.Terms
}

func newSubject(t *testing.T, open func(*testing.T) lease.Store) *subject {
	return &subject{kvtest.Process{T: t, Store: open(t)}, kvtest.Terms}
}

func (s *subject) operator() Operator {
	s.Helper()
	op, ok := s.Store.(Operator)
	if !ok {
		s.Skip("the store is no leasetest.Operator")
	}
	return op
}

// create creates the namespace unless it exists already.
func (s *subject) create() { s.Helper(); s.creates(s.terms, 0) }

func (s *subject) creates(terms lease.Terms, position int64) (created bool) {
	s.Helper()
	return errtest.Must(s.CreateNamespace(s.Context(), terms, position))(s)
}

func (s *subject) probe(q lease.Query) lease.Probe {
	s.Helper()
	q.Terms = s.terms
	if q.PreferWorker == 0 {
		q.PreferWorker = -1
	}
	if q.Max == 0 {
		q.Max = s.terms.Workers - 1
	}
	return errtest.Must(s.Probe(s.Context(), q))(s)
}

func (s *subject) now() int64 { s.Helper(); return s.probe(lease.Query{}).Now }

// list returns the rows of the workers from min to max.
func (s *subject) list(terms lease.Terms, min, max int64) []lease.Row {
	s.Helper()
	return errtest.Must(s.Rows(s.Context(), terms, min, max))(s)
}

// row returns the row of a worker, which must have one.
func (s *subject) row(worker int64) lease.Row {
	s.Helper()
	rows := s.list(s.terms, worker, worker)
	if len(rows) != 1 {
		s.Fatalf("worker %d has %d rows", worker, len(rows))
	}
	return rows[0]
}

// added returns the row of a worker. If there is none yet, it adds a free one.
func (s *subject) added(worker int64) lease.Row {
	s.Helper()
	s.Must(s.AddRows(s.Context(), s.adding(), worker, worker))
	return s.row(worker)
}

// adding returns terms with which the bound of a new row is the cap, so that a claim can
// raise it at once.
func (s *subject) adding() lease.Terms {
	terms := s.terms
	terms.Ahead -= terms.Skew
	return terms
}

// start returns the limit at which a row of a namespace starts if s.adding adds it.
func (s *subject) start(p lease.Probe) func(lease.Limits) int64 {
	if p.OneClock || !p.HasNamespace && s.terms.Coarse() {
		return tick
	}
	return theCap
}

func (s *subject) claimOf(seen lease.Row) lease.Claim {
	s.Helper()
	return s.claimAfter(s.probe(lease.Query{}), seen)
}

// claimAfter returns a claim by a process that has seen the row and p.
func (s *subject) claimAfter(p lease.Probe, seen lease.Row) lease.Claim {
	return lease.Claim{Terms: s.terms, Seen: seen, Fence: p.Fence, Token: rand.Text(), Label: "host/1", Wanted: everything, Volatile: p.Volatile}
}

func (s *subject) renewalOf(held lease.Row) lease.Renewal {
	return lease.Renewal{Terms: s.terms, Held: held, Token: rand.Text(), Wanted: everything, Volatile: true}
}

// claim claims a row, which must succeed, and returns the row in the store.
func (s *subject) claim(c lease.Claim) lease.Row {
	s.Helper()
	row, ok, err := s.Claim(s.Context(), c)
	return s.granted(row, ok, err, c.Seen, c.Token, c.Label, c.Terms)
}

// renew renews a lease, which must succeed, and returns the row in the store.
func (s *subject) renew(r lease.Renewal) lease.Row {
	s.Helper()
	row, ok, err := s.Renew(s.Context(), r)
	return s.granted(row, ok, err, r.Held, r.Token, r.Held.Label, r.Terms)
}

func (s *subject) granted(row lease.Row, ok bool, err error, before lease.Row, token, label string, terms lease.Terms) lease.Row {
	s.Helper()
	s.Must(err)
	if !ok {
		s.Fatal("refused")
	}
	if row.Worker != before.Worker || row.Token != token || row.Revision <= before.Revision ||
		row.Label != label || row.Expires != row.Now+terms.TTL {
		s.Errorf("%+v became %+v; want the token %q, the label %q and a TTL of %d", before, row, token, label, terms.TTL)
	}
	if before.Now != 0 && row.Now < before.Now {
		s.Errorf("the store's time went back from %d to %d", before.Now, row.Now)
	}
	if stored := s.row(row.Worker); !same(stored, row) {
		s.Errorf("the store answered %+v and holds %+v", row, stored)
	}
	return row
}

// release releases a lease, which must succeed, and returns the row in the store.
func (s *subject) release(held lease.Row, unused int64) lease.Row {
	s.Helper()
	if !errtest.Must(s.Release(s.Context(), s.terms, held, unused))(s) {
		s.Fatal("refused")
	}
	return s.row(held.Worker)
}

// same reports whether two rows are equal, ignoring Now.
func same(a, b lease.Row) bool {
	a.Now, b.Now = 0, 0
	return a == b
}

// refused fails the test unless the store refused a call, which must not have changed the
// row.
func (s *subject) refused(what string, before lease.Row) func(lease.Row, bool, error) {
	return func(_ lease.Row, ok bool, err error) {
		s.Helper()
		if ok || err != nil {
			s.Errorf("%s: got %v, %v; want a refusal", what, ok, err)
		}
		if after := s.row(before.Worker); !same(before, after) {
			s.Errorf("%s: %+v became %+v", what, before, after)
		}
	}
}

// at fails the test unless the counter equals the limit at some time between the two
// readings.
func (s *subject) at(limit func(lease.Limits) int64, what string, counter, before, after int64) {
	s.Helper()
	if least, most := limit(s.terms.At(before)), limit(s.terms.At(after)); counter < least || counter > most {
		s.Errorf("%s is %d, not of %d to %d", what, counter, least, most)
	}
}

func tick(l lease.Limits) int64        { return l.Tick }
func theCap(l lease.Limits) int64      { return l.Cap }
func newFence(l lease.Limits) int64    { return l.NewFence }
func raisedFence(l lease.Limits) int64 { return l.RaisedFence }

func createOnce(s *subject) {
	another := s.terms
	another.Namespace = "another"
	s.creates(another, 0)
	s.Must(s.AddRows(s.Context(), another, 3, 3))
	p := s.probe(lease.Query{})
	if p.HasNamespace || p.HasFree {
		s.Errorf("got %+v", p)
	}
	if at := time.UnixMicro(p.Now); at.Before(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)) {
		s.Errorf("the store's time is %v", at)
	}
	if p := s.probe(lease.Query{Waiting: true}); p.HasNamespace || p.HasFree {
		s.Errorf("waiting: got %+v", p)
	}
	s.Must(s.Fence(s.Context(), s.terms, ""))
	s.Must(s.AddRows(s.Context(), s.terms, 0, 7))
	if p := s.probe(lease.Query{}); p.HasNamespace {
		s.Error("a fence or a row has created it")
	}

	s.create()
	first := s.probe(lease.Query{})
	if !first.HasNamespace || first.Fingerprint == "" || first.Fingerprint != first.Current {
		s.Errorf("created: %+v", first)
	}
	other := s.terms
	other.Ahead *= 2
	s.creates(other, 1)
	if p := s.probe(lease.Query{}); p.Fence != first.Fence {
		s.Errorf("created again: %+v became %+v", first, p)
	}
}

// A process must compare a layout with all others before it adds the layout.
func secondLayout(s *subject) {
	s.create()
	layouts := func(want ...string) {
		s.Helper()
		got, _, err := s.Layouts(s.Context(), s.terms.Namespace)
		s.Must(err)
		if slices.Sort(got); !slices.Equal(got, want) {
			s.Errorf("the layouts are %q, want %q", got, want)
		}
	}
	layouts("41/10/12")
	first := s.added(7)
	s.terms.Layout = "41/12/10"
	s.creates(s.terms, 0)
	if layouts("41/10/12"); s.probe(lease.Query{}).HasNamespace {
		s.Error("a second layout was added by who had not seen the first")
	}
	s.creates(s.terms, 1)
	layouts("41/10/12", "41/12/10")
	if p := s.probe(lease.Query{}); !p.HasNamespace || p.HasFree {
		s.Errorf("the second layout: %+v", p)
	}
	second := s.claim(s.claimOf(s.added(7)))
	s.terms.Layout = "41/10/12"
	if p := s.probe(lease.Query{}); !p.HasFree || !same(p.Row, first) {
		s.Errorf("the row of the first layout was %+v and is %+v, with %+v of the second", first, p.Row, second)
	}

	s.terms.Namespace, s.terms.Layout = "another", "left behind"
	s.added(7)
	layouts("left behind")
}

func units(s *subject) {
	for _, unit := range []time.Duration{time.Microsecond, time.Millisecond, 10 * time.Millisecond, time.Second, time.Minute, time.Hour, 24 * time.Hour, 7 * time.Hour / 3} {
		for _, epoch := range []int{1970, 2025, 2200} {
			s.terms.Namespace = fmt.Sprint(unit, epoch)
			s.terms.Unit, s.terms.PerTick = unit.Microseconds(), 1<<8
			s.terms.Epoch = time.Date(epoch, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
			before := s.probe(lease.Query{})
			early := s.added(6)
			s.at(s.start(before), "the bound of a row before the namespace", early.Bound, before.Now, early.Now)
			s.create()
			p := s.probe(lease.Query{})
			s.at(newFence, "the fence at first", p.Fence, before.Now, p.Now)
			s.Must(s.Fence(s.Context(), s.terms, ""))
			added := s.added(7)
			p = s.probe(lease.Query{})
			s.at(raisedFence, "the fence", p.Fence, before.Now, p.Now)
			s.at(s.start(p), "the bound of a new row", added.Bound, before.Now, p.Now)
			claimed := s.claim(s.claimOf(added))
			s.at(theCap, "the bound", claimed.Bound, claimed.Now, claimed.Now)
		}
	}
}

// Positions must stay unique even after the row of an old layout was deleted. We add
// rows before the layout, because keepers may do so too.
func layoutAfterDeletion(s *subject) {
	op := s.operator()
	for i := range 5 {
		s.terms.Layout = fmt.Sprint("layout ", i)
		layouts, position, err := s.Layouts(s.Context(), s.terms.Namespace)
		s.Must(err)
		s.Must(s.AddRows(s.Context(), s.terms, 0, 0))
		s.creates(s.terms, position)
		if p := s.probe(lease.Query{}); !p.HasNamespace {
			s.Errorf("layout %d was not added at position %d beside %q", i, position, layouts)
		}
		if i%2 == 1 {
			first := s.terms
			first.Layout = fmt.Sprint("layout ", i/2)
			s.Must(op.DeleteNamespace(s.Context(), first))
		}
	}
}

func addedMany(s *subject) {
	s.create()
	held := s.claim(s.claimOf(s.added(70)))
	before := s.probe(lease.Query{})
	most := int64(1023)
	s.Must(s.AddRows(s.Context(), s.adding(), 3, most))
	if len(s.list(s.terms, 3, most)) <= 2 {
		most = 199 // the store adds one row at a time, so this takes as many calls
	}
	rows := s.list(s.terms, 3, most)
	for ; int64(len(rows)) <= most-3; rows = s.list(s.terms, 3, most) { // AddRows may add fewer rows
		next := int64(3)
		for _, r := range rows {
			if r.Worker == next {
				next++
			}
		}
		s.Must(s.AddRows(s.Context(), s.adding(), next, most))
		s.row(next) // ends the test if it is missing
	}
	for _, row := range rows {
		if row.Worker == 70 {
			if !same(row, held) {
				s.Errorf("%+v became %+v", held, row)
			}
			continue
		}
		s.at(s.start(before), "the bound", row.Bound, before.Now, row.Now)
		if row.Token != "" || row.Label != "" || row.Revision != 0 || !s.terms.Free(row) {
			s.Fatalf("added %+v", row)
		}
	}
	if p := s.probe(lease.Query{Waiting: true}); p.LastWorker != most {
		s.Errorf("the largest worker with a row is %d, want %d", p.LastWorker, most)
	}
	if p := s.probe(lease.Query{Min: 0, Max: 100, Waiting: true}); p.LastWorker != 100 {
		s.Errorf("the largest worker up to 100 with a row is %d", p.LastWorker)
	}
	if p := s.probe(lease.Query{Min: 1, Max: 2}); p.LastWorker != 0 || p.HasFree {
		s.Errorf("below the rows: %+v", p)
	}
}

func released(s *subject) {
	s.create()
	for _, worker := range []int64{0, 7, s.terms.Workers - 1} {
		held := s.renew(s.renewalOf(s.claim(s.claimOf(s.added(worker)))))
		free := s.release(held, held.Bound-1)
		if free.Token != "" || free.Revision <= held.Revision || free.Bound != held.Bound-1 || free.Label != held.Label {
			s.Errorf("released: %+v became %+v", held, free)
		}
		if p := s.probe(lease.Query{Min: worker, Max: worker}); !p.HasFree || !same(p.Row, free) {
			s.Errorf("a probe finds %+v, want %+v", p.Row, free)
		}
		again := s.claim(s.claimOf(free))
		if free := s.release(again, again.Bound+1); free.Bound != again.Bound {
			s.Errorf("a release has raised the bound from %d to %d", again.Bound, free.Bound)
		}
	}
}

func states(s *subject) {
	for _, tt := range []struct {
		state                string
		ttl, skew            int64 // of a lease; if ttl is 0, there is none
		claimable, renewable bool
		edit                 func(*lease.Row) // by an operator
	}{
		{state: "free", claimable: true},
		{state: "leased", ttl: kvtest.Terms.TTL, renewable: true},
		{state: "expired", ttl: lapsed, claimable: true},
		// If another server takes over, its clock may be behind this one's. For that
		// server, the lease may not have expired yet.
		{state: "just expired", ttl: -1, skew: time.Hour.Microseconds()},
		{state: "free with an expiry", claimable: true, edit: func(r *lease.Row) { r.Expires = r.Now + kvtest.Terms.TTL }},
	} {
		s.terms = kvtest.Terms
		s.terms.Namespace = tt.state
		s.create()
		row := s.added(7)
		if tt.ttl != 0 {
			s.terms.TTL, s.terms.Skew = tt.ttl, max(tt.skew, s.terms.Skew)
			row = s.claim(s.claimOf(row))
		}
		if tt.edit != nil {
			op := s.operator()
			tt.edit(&row)
			s.Must(op.Edit(s.Context(), s.terms, row))
		}
		if p := s.probe(lease.Query{PreferLabel: row.Label}); p.HasFree != tt.claimable || p.HasFree && !same(p.Row, row) {
			s.Errorf("%s: a probe finds %v, %+v; the row is %+v", tt.state, p.HasFree, p.Row, row)
		}
		if tt.renewable {
			row = s.renew(s.renewalOf(row))
		} else {
			s.refused("a renewal of a row that is "+tt.state, row)(s.Renew(s.Context(), s.renewalOf(row)))
		}
		if tt.claimable {
			row = s.claim(s.claimOf(row))
		} else {
			s.refused("a claim of a row that is "+tt.state, row)(s.Claim(s.Context(), s.claimOf(row)))
		}
		s.release(row, row.Bound)
	}
}

// strangers are what a process believes to know about a row, or about its namespace, if that
// isn't true.
var strangers = map[string]func(*lease.Terms, *lease.Row){
	"another token":     func(_ *lease.Terms, r *lease.Row) { r.Token = rand.Text() },
	"no token":          func(_ *lease.Terms, r *lease.Row) { r.Token = "" },
	"a later revision":  func(_ *lease.Terms, r *lease.Row) { r.Revision++ },
	"a former revision": func(_ *lease.Terms, r *lease.Row) { r.Revision-- },
	"another layout":    func(t *lease.Terms, _ *lease.Row) { t.Layout = "41/10/13" },
	"another namespace": func(t *lease.Terms, _ *lease.Row) { t.Namespace = "another" },
	"no such row":       func(_ *lease.Terms, r *lease.Row) { r.Worker++ },
}

func refused(s *subject) {
	s.create()
	held := s.claim(s.claimOf(s.added(7)))
	strange := func(call string, row lease.Row, send func(lease.Terms, lease.Row) (lease.Row, bool, error)) {
		s.Helper()
		for what, change := range strangers {
			terms, seen := s.terms, row
			change(&terms, &seen)
			s.refused(call+" with "+what, row)(send(terms, seen))
			if rows := s.list(terms, 0, s.terms.Workers-1); len(rows) > 1 || terms != s.terms && len(rows) > 0 {
				s.Errorf("%s with %s has added one of %+v", call, what, rows)
			}
		}
	}
	strange("a release", held, func(terms lease.Terms, seen lease.Row) (lease.Row, bool, error) {
		ok, err := s.Release(s.Context(), terms, seen, 0)
		return lease.Row{}, ok, err
	})
	strange("a renewal", held, func(terms lease.Terms, seen lease.Row) (lease.Row, bool, error) {
		r := s.renewalOf(seen)
		r.Terms = terms
		return s.Renew(s.Context(), r)
	})
	s.terms.TTL = lapsed
	expired := s.renew(s.renewalOf(held))
	strange("a claim", expired, func(terms lease.Terms, seen lease.Row) (lease.Row, bool, error) {
		c := s.claimOf(seen)
		c.Terms = terms
		return s.Claim(s.Context(), c)
	})
	for what, change := range map[string]func(*lease.Claim){
		"a lower bound":  func(c *lease.Claim) { c.Seen.Bound-- },
		"a higher bound": func(c *lease.Claim) { c.Seen.Bound++ },
		"a lower fence":  func(c *lease.Claim) { c.Fence-- },
	} {
		c := s.claimOf(expired)
		change(&c)
		s.refused("a claim with "+what, expired)(s.Claim(s.Context(), c))
	}
}

func bounds(s *subject) {
	s.create()
	claimed, leased := s.added(7), s.claim(s.claimOf(s.added(8)))
	raised := func(row *lease.Row, raise func(wanted int64) lease.Row) {
		s.Helper()
		bound := row.Bound
		check := func(what string, wanted, bound int64) {
			s.Helper()
			if *row = raise(wanted); row.Bound != bound {
				s.Errorf("%s: the bound is %d, want %d", what, row.Bound, bound)
			}
		}
		s.terms.Ahead *= 2
		check("nothing is wanted", 0, bound)
		check("one is wanted", bound+1, bound+1)
		check("three more are wanted", bound+4, bound+4)
		*row = raise(everything)
		s.at(theCap, "the bound when everything is wanted", row.Bound, row.Now, row.Now)
		s.terms.Ahead /= 4
		check("the cap is below the bound", everything, row.Bound)
		s.terms.Ahead = kvtest.Terms.Ahead
	}
	raised(&leased, func(wanted int64) lease.Row {
		r := s.renewalOf(leased)
		r.Wanted = wanted
		return s.renew(r)
	})
	s.terms.TTL = lapsed // so that it can be claimed again
	raised(&claimed, func(wanted int64) lease.Row {
		c := s.claimOf(claimed)
		c.Wanted = wanted
		return s.claim(c)
	})
}

func ranges(s *subject) {
	s.create()
	if rows := s.list(s.terms, 0, 1023); len(rows) != 0 {
		s.Errorf("an empty namespace has the rows %+v", rows)
	}
	for _, worker := range []int64{20, 9, 1000, 10, 21} {
		s.added(worker)
	}
	var workers []int64
	for _, r := range s.list(s.terms, 10, 1000) {
		workers = append(workers, r.Worker)
	}
	if want := []int64{10, 20, 21, 1000}; !slices.Equal(workers, want) {
		s.Errorf("got %v, want %v", workers, want)
	}
	for _, q := range []struct{ min, max, want int64 }{{10, 19, 10}, {11, 20, 20}, {20, 20, 20}, {11, 19, -1}, {22, 999, -1}} {
		for range 8 {
			p := s.probe(lease.Query{Min: q.min, Max: q.max})
			if p.HasFree != (q.want >= 0) || p.HasFree && !same(p.Row, s.row(q.want)) {
				s.Errorf("from %d to %d: found %v, %+v; want the row of worker %d", q.min, q.max, p.HasFree, p.Row, q.want)
			}
		}
	}
}

// With long ticks, a row can be spent until the next tick, so that a claim would be granted
// nothing. The best rows have the largest worker numbers here, because a store may read only
// some rows that are adjacent.
func preferred(s *subject) {
	s.terms.Unit = (10 * 365 * 24 * time.Hour).Microseconds() // the tick does not end during the test
	s.create()
	limits := s.terms.At(s.now())
	half := limits.Cap - s.terms.PerTick/2
	for worker, label := range []string{"spent", "leased", "half spent", "", "unused", "unused too"} {
		c := s.claimOf(s.added(int64(worker)))
		c.Label = label
		if held := s.claim(c); label != "leased" {
			s.release(held, []int64{limits.Cap, 0, half, half, limits.Tick, 0}[worker])
		}
	}
	for _, tt := range []struct {
		q    lease.Query
		want []int64
	}{
		{lease.Query{}, []int64{4, 5}},
		{lease.Query{PreferLabel: "unused too"}, []int64{5}},
		{lease.Query{PreferLabel: "half spent"}, []int64{2}},
		{lease.Query{PreferWorker: 2}, []int64{2}},
		{lease.Query{PreferWorker: 2, PreferLabel: "unused"}, []int64{2}},
		{lease.Query{PreferLabel: "spent"}, []int64{4, 5}},
		{lease.Query{PreferWorker: 1, PreferLabel: "leased"}, []int64{4, 5}},
		{lease.Query{Max: 3}, []int64{2, 3}},
		{lease.Query{Max: 1, PreferLabel: "another"}, []int64{0}},
	} {
		if s.probe(tt.q).OneClock {
			tt.want = tt.want[:1]
		}
		found := make(map[int64]bool)
		for range 24 {
			p := s.probe(tt.q)
			if !p.HasFree || !slices.Contains(tt.want, p.Row.Worker) {
				s.Fatalf("%+v: found %v, %+v; want one of the workers %v", tt.q, p.HasFree, p.Row, tt.want)
			}
			found[p.Row.Worker] = true
		}
		if len(found) < len(tt.want) {
			s.Errorf("%+v: all processes would try the same of the workers %v", tt.q, tt.want)
		}
	}
}

func probeWaiting(s *subject) {
	s.create()
	if p := s.probe(lease.Query{Waiting: true}); p.HasFree {
		s.Errorf("without rows: %+v", p)
	}
	var held []lease.Row
	for worker := range int64(8) {
		c := s.claimOf(s.added(worker))
		if worker == 5 {
			c.Terms.TTL /= 2
		}
		held = append(held, s.claim(c))
	}
	if p := s.probe(lease.Query{Waiting: true}); p.HasFree || !same(p.Row, held[5]) {
		s.Errorf("the next to be free is %+v, want %+v", p, held[5])
	}
	free := s.release(held[3], held[3].Bound)
	if p := s.probe(lease.Query{Waiting: true}); !p.HasFree || !same(p.Row, free) {
		s.Errorf("found %+v, want %+v", p, free)
	}
	if p := s.probe(lease.Query{Min: 4, Max: 6, Waiting: true}); p.HasFree || p.Row.Worker != 5 {
		s.Errorf("from 4 to 6: found %+v, want worker 5", p)
	}
}

// race runs 64 processes that start at the same time. Each of them migrates the store, and
// leases one of 64 worker numbers. If two updates conflict, a store may return an error,
// such as a deadlock or a serialization failure. The process then tries again up to 64
// times, as keepers do.
func race(s *subject) {
	const n, patience, steps = 64, 64, 1000
	s.terms.Workers = n
	var wg sync.WaitGroup
	leased := make([]lease.Row, n)
	began := time.Now()
	for i := range n {
		wg.Go(func() {
			if err := s.Migrate(s.Context()); err != nil {
				s.Error(err)
			}
			for left := steps; left > 0; left-- {
				row, done, err := s.step()
				if done {
					leased[i] = row
					return
				}
				if err != nil {
					s.Logf("process %d tries again after: %v", i, err)
					left -= steps / patience
				}
			}
			s.Errorf("process %d got no lease", i)
		})
	}
	wg.Wait()
	s.Logf("64 leases after %v", time.Since(began).Round(time.Millisecond))
	s.Must(s.Migrate(s.Context())) // changes nothing
	seen := make(map[int64]bool)
	for i, row := range leased {
		if seen[row.Worker] {
			s.Errorf("worker %d is leased twice", row.Worker)
		}
		seen[row.Worker] = true
		if stored := s.row(row.Worker); !same(stored, row) {
			s.Errorf("process %d holds %+v, the store %+v", i, row, stored)
		}
	}
}

// step takes the next step towards a lease.
func (s *subject) step() (row lease.Row, done bool, err error) {
	ctx := s.Context()
	p, err := s.Probe(ctx, lease.Query{Terms: s.terms, Max: s.terms.Workers - 1, PreferWorker: -1})
	switch {
	case err != nil:
	case !p.HasNamespace:
		_, err = s.CreateNamespace(ctx, s.terms, 0)
	case p.HasFree:
		return s.Claim(ctx, s.claimAfter(p, p.Row))
	case p.LastWorker < s.terms.Workers-1:
		err = s.AddRows(ctx, s.terms, p.LastWorker+1, s.terms.Workers-1)
	default:
		err = fmt.Errorf("leasetest: no number is left, of as many as there are processes")
	}
	return lease.Row{}, false, err
}

func fence(s *subject) {
	s.create()
	first := s.probe(lease.Query{})
	s.terms.Ahead *= 2
	s.Must(s.Fence(s.Context(), s.terms, "another database"))
	if p := s.probe(lease.Query{}); p.Fence != first.Fence || p.Fingerprint != first.Fingerprint {
		s.Errorf("another fingerprint was seen: %+v became %+v", first, p)
	}
	for _, seen := range []string{first.Fingerprint, ""} {
		before := s.now()
		s.Must(s.Fence(s.Context(), s.terms, seen))
		p := s.probe(lease.Query{})
		s.at(raisedFence, "the fence", p.Fence, before, p.Now)
		s.terms.Ahead *= 2
	}
	last := s.probe(lease.Query{})
	s.terms.Ahead = kvtest.Terms.Ahead / 2
	s.Must(s.Fence(s.Context(), s.terms, ""))
	if p := s.probe(lease.Query{}); p.Fence != last.Fence {
		s.Errorf("the fence went from %d to %d", last.Fence, p.Fence)
	}
}

func otherDatabase(s *subject) {
	op := s.operator()
	s.create()
	s.Must(op.SetFingerprint(s.Context(), s.terms, "another database"))
	p := s.probe(lease.Query{})
	if p.Fingerprint != "another database" || p.Current == p.Fingerprint {
		s.Fatalf("not noticed: %+v", p)
	}
	row := s.added(7)
	s.refused("a claim in another database", row)(s.Claim(s.Context(), s.claimOf(row)))
	s.terms.Ahead *= 2
	s.Must(s.Fence(s.Context(), s.terms, p.Fingerprint))
	fenced := s.probe(lease.Query{})
	if fenced.Fingerprint == p.Fingerprint || fenced.Fingerprint != fenced.Current {
		s.Errorf("not fenced: %+v", fenced)
	}
	s.at(raisedFence, "the fence", fenced.Fence, p.Now, fenced.Now)
	s.claim(s.claimOf(row))
}

func names(s *subject) {
	all := []string{
		"orders", "Orders", "ORDERS", "order", "orders_", "örders", "o%", "",
		"a'b", `a"b`, "a`b", `a\b`, `\`, "a;b--", "100%", "$1", "?", "@min", "{lease}", "a\nb", "日本語", "🜁",
		"0123456789012345678901234567890123456789012345678901234567890123", // 64 bytes
		"ääääääääääääääääääääääääääääääää",                                 // also 64 bytes
	}
	use := func(i int) { s.terms.Namespace, s.terms.Layout = all[i], "the layout of "+all[i] }
	fences := make([]int64, len(all))
	for i, name := range all {
		use(i)
		s.create()
		c := s.claimOf(s.added(int64(i + 1)))
		c.Label = name
		held := s.renew(s.renewalOf(s.claim(c)))
		s.release(held, held.Bound)
		fences[i] = s.probe(lease.Query{}).Fence
	}
	use(0)
	s.terms.Ahead *= 2
	s.Must(s.Fence(s.Context(), s.terms, ""))
	s.terms.Ahead /= 2
	for i, name := range all {
		use(i)
		p := s.probe(lease.Query{PreferLabel: name})
		if !p.HasNamespace || !p.HasFree || p.Row.Worker != int64(i+1) || p.Row.Label != name {
			s.Errorf("%q: got %+v", name, p)
		}
		if i > 0 && p.Fence != fences[i] {
			s.Errorf("%q was fenced with %q", name, all[0])
		}
		if rows := s.list(s.terms, 0, 1023); len(rows) != 1 {
			s.Errorf("%q has the rows %+v", name, rows)
		}
		c := s.claimOf(p.Row)
		c.Terms.Layout = "the layout of " + all[(i+1)%len(all)]
		s.refused("a claim with the layout of another namespace", p.Row)(s.Claim(s.Context(), c))
		s.claim(s.claimOf(p.Row))
	}
}

func cancelled(s *subject) {
	s.create()
	held := s.claim(s.claimOf(s.added(7)))
	before := s.probe(lease.Query{})
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	another := s.terms
	another.Namespace = "another"
	calls := map[string]func() error{
		"Migrate":         func() error { return s.Migrate(ctx) },
		"Layouts":         func() error { _, _, err := s.Layouts(ctx, s.terms.Namespace); return err },
		"CreateNamespace": func() error { _, err := s.CreateNamespace(ctx, another, 0); return err },
		"Probe":           func() error { _, err := s.Probe(ctx, lease.Query{Terms: s.terms}); return err },
		"Fence":           func() error { return s.Fence(ctx, s.terms, "") },
		"AddRows":         func() error { return s.AddRows(ctx, s.terms, 8, 9) },
		"Claim":           func() error { _, _, err := s.Claim(ctx, s.claimOf(held)); return err },
		"Renew":           func() error { _, _, err := s.Renew(ctx, s.renewalOf(held)); return err },
		"Release":         func() error { _, err := s.Release(ctx, s.terms, held, held.Bound); return err },
		"Rows":            func() error { _, err := s.Rows(ctx, s.terms, 0, 1023); return err },
	}
	for name, call := range calls {
		if err := call(); err == nil {
			s.Errorf("%s did not fail", name)
		}
	}
	if rows := s.list(s.terms, 0, 1023); len(rows) != 1 || !same(rows[0], held) {
		s.Errorf("there was %+v and is %+v", held, rows)
	}
	if after := s.probe(lease.Query{}); after.Fence != before.Fence || after.LastWorker != before.LastWorker {
		s.Error("the fence was raised, or a row added")
	}
	s.terms = another
	if s.probe(lease.Query{}).HasNamespace {
		s.Error("a namespace was created")
	}
}
