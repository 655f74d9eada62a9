package leasetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/lease"
)

// Run tests that stores do what [lease.Store] promises. open is called once for
// each property and returns an empty store, not migrated yet, that lives until t
// ends. If it is an [Operator] too, as it should be, Run covers all there is.
//
// Run takes the store's own clock as it is, and no time to speak of: leases that
// have expired are claimed with a TTL below zero.
//
// Among rows that are equally good, a probe must find a random one, or the least
// worker if the store is [Ordered].
func Run(t *testing.T, open func(t *testing.T) lease.Store) {
	for _, p := range properties {
		t.Run(p.name, func(t *testing.T) {
			s := &subject{T: t, Store: open(t), terms: millisecond}
			s.must(s.Migrate(t.Context()))
			p.check(s)
		})
	}
	t.Run("16 processes migrate at once, and once more", func(t *testing.T) {
		store := open(t)
		for range 2 {
			var wg sync.WaitGroup
			for range 16 {
				wg.Go(func() {
					if err := store.Migrate(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
		}
		if err := store.Found(t.Context(), millisecond, 0); err != nil {
			t.Error(err)
		}
	})
	t.Run("64 processes start on nothing", func(t *testing.T) {
		s := &subject{T: t, Store: open(t), terms: millisecond}
		s.raceFor64(func() error { return s.Migrate(t.Context()) })
	})
}

// An Ordered store hands out the least worker first. That suits processes that
// are few and start in order; where many start at once, they all try the same row.
type Ordered interface {
	Ordered()
}

var properties = []struct {
	name  string
	check func(*subject)
}{
	{"a namespace is founded once", foundOnce},
	{"an absent namespace is not founded", absent},
	{"bounds end with the tick that Ahead falls into", units},
	{"a layout is added by who has seen all others", secondLayout},
	{"workers are born in order, each once", born},
	{"a worker whose row is deleted is not born again", bornNoMore},
	{"64 births at once are of 64 workers", bornAtOnce},
	{"a namespace that was lost counts the rows that are left", bornBefore},
	{"a worker that was not born is not claimed", unborn},
	{"a lost row is replaced behind all that it could have granted", replaced},
	{"a row that is there is not replaced", replacedOnce},
	{"a free row is claimed", claimFree},
	{"an expired row is claimed", claimExpired},
	{"a lease that has just expired is neither renewed nor claimed", justExpired},
	{"a claim is refused if anything is not as it was seen", claimRefused},
	{"a claim never lowers a bound, nor grants more than is wanted", claimBound},
	{"a lease is renewed", renew},
	{"a renewal is refused if the lease is not the holder's any more", renewRefused},
	{"a renewal never lowers a bound, nor grants more than is wanted", renewBound},
	{"a release frees the row and gives back what was not used", release},
	{"a release never raises a bound", releaseBound},
	{"a release is refused if the lease is not the holder's any more", releaseRefused},
	{"a probe keeps to its range", probeRange},
	{"a probe finds no leased row", probeLeased},
	{"a probe prefers rows that are ready, and among them none", probeReady},
	{"a probe prefers the label, if it asks for one", probeLabel},
	{"a probe finds rows last of which nothing would be granted", probeSpent},
	{"rows are listed by number", rows},
	{"64 claimers of 64 rows get one each", claimers},
	{"a fence is raised if the fingerprint is as it was seen", fence},
	{"a fence is never lowered", fenceBound},
	{"another database is noticed, and fenced", otherDatabase},
	{"a row that is deleted is lost to its holder", deleted},
	{"a row that is edited is lost to its holder", edited},
	{"a row without a token is free, whenever it expires", unheld},
	{"namespaces have nothing in common", namespaces},
	{"names may be odd", oddNames},
	{"a call whose context has ended fails and does nothing", cancelled},
}

const everything = math.MaxInt64 // a bound that only the cap limits

// millisecond are the terms of the layout 41/10/12.
var millisecond = lease.Terms{
	Namespace: "orders", Layout: "41/10/12", Epoch: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(),
	Unit: 1000, PerTick: 4096, Workers: 1024,
	Ahead: (12 * time.Second).Microseconds(), Skew: (2 * time.Second).Microseconds(), TTL: (15 * time.Minute).Microseconds(),
}

// beyond is a worker whose birth counts all those that tests use.
const beyond = 1 << 20

// lapsed is a TTL of leases that others may claim at once.
const lapsed = -4_000_000

// A subject is a store under test, in which a call that errs ends the test.
type subject struct {
	*testing.T
	lease.Store
	terms lease.Terms
}

func (s *subject) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *subject) operator() Operator {
	s.Helper()
	op, ok := s.Store.(Operator)
	if !ok {
		s.Skip("the store is no leasetest.Operator")
	}
	return op
}

func (s *subject) found() { s.Helper(); s.must(s.Found(s.Context(), s.terms, 0)) }

func (s *subject) probe(q lease.Query) lease.Probe {
	s.Helper()
	q.Terms = s.terms
	if q.Max == 0 {
		q.Max = s.terms.Workers - 1
	}
	p, err := s.Probe(s.Context(), q)
	s.must(err)
	return p
}

func (s *subject) now() int64 { s.Helper(); return s.probe(lease.Query{}).Now }

// row returns the row of a worker, which must be there.
func (s *subject) row(worker int64) lease.Row {
	s.Helper()
	rows, err := s.Rows(s.Context(), s.terms, worker, worker)
	s.must(err)
	if len(rows) != 1 {
		s.Fatalf("worker %d has %d rows", worker, len(rows))
	}
	return rows[0]
}

// added returns the row of a worker, which is free if it was not there before.
func (s *subject) added(worker int64) lease.Row {
	s.Helper()
	s.must(s.Bear(s.Context(), s.terms, beyond, beyond)) // counts it as born
	s.must(s.Replace(s.Context(), s.terms, worker))
	return s.row(worker)
}

func (s *subject) claimOf(seen lease.Row) lease.Claim {
	return lease.Claim{Terms: s.terms, Seen: seen, Fence: s.probe(lease.Query{}).Fence, Token: rand.Text(), Label: "host/1", Wanted: everything}
}

func (s *subject) renewalOf(held lease.Row) lease.Renewal {
	return lease.Renewal{Terms: s.terms, Held: held, Token: rand.Text(), Wanted: everything}
}

func (s *subject) releaseOf(held lease.Row) lease.Release {
	return lease.Release{Terms: s.terms, Held: held, Unused: held.Bound}
}

// claim claims, and returns what the store then holds.
func (s *subject) claim(c lease.Claim) lease.Row {
	s.Helper()
	row, ok, err := s.Claim(s.Context(), c)
	return s.granted(row, ok, err, c.Seen, c.Token, c.Label, c.Terms)
}

// renew renews, and returns what the store then holds.
func (s *subject) renew(r lease.Renewal) lease.Row {
	s.Helper()
	row, ok, err := s.Renew(s.Context(), r)
	return s.granted(row, ok, err, r.Held, r.Token, r.Held.Label, r.Terms)
}

func (s *subject) granted(row lease.Row, ok bool, err error, before lease.Row, token, label string, terms lease.Terms) lease.Row {
	s.Helper()
	s.must(err)
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

func (s *subject) release(r lease.Release) lease.Row {
	s.Helper()
	ok, err := s.Release(s.Context(), r)
	s.must(err)
	if !ok {
		s.Fatal("refused")
	}
	return s.row(r.Held.Worker)
}

// same compares rows but for when they were read.
func same(a, b lease.Row) bool {
	a.Now, b.Now = 0, 0
	return a == b
}

// untouched fails if the call returned anything but a refusal, or left a trace.
func (s *subject) untouched(what string, before lease.Row, ok bool, err error) {
	s.Helper()
	if ok || err != nil {
		s.Errorf("%s: got %v, %v; want a refusal", what, ok, err)
	}
	if after := s.row(before.Worker); !same(before, after) {
		s.Errorf("%s: %+v became %+v", what, before, after)
	}
}

// at fails if the counter is not what of tells of a time between two readings.
func (s *subject) at(of func(now int64) int64, what string, counter, before, after int64) {
	s.Helper()
	if least, most := of(before), of(after); counter < least || counter > most {
		s.Errorf("%s is %d, not of %d to %d", what, counter, least, most)
	}
}

// capped fails if bound is not the cap of a time between two readings.
func (s *subject) capped(what string, bound, before, after int64) {
	s.Helper()
	s.at(s.terms.Cap, what, bound, before, after)
}

func foundOnce(s *subject) {
	before := s.now()
	s.found()
	first := s.probe(lease.Query{})
	if !first.Founded || first.Fingerprint == "" || first.Fingerprint != first.Current || first.Born != 0 {
		s.Errorf("founded: %+v", first)
	}
	s.at(s.terms.Founding, "the fence", first.Fence, before, first.Now)
	other := s.terms
	other.Ahead *= 2
	s.must(s.Found(s.Context(), other, 1))
	if p := s.probe(lease.Query{}); p.Fence != first.Fence {
		s.Errorf("founded again: %+v became %+v", first, p)
	}
}

// Whoever adds a layout has compared it with all that are there.
func secondLayout(s *subject) {
	s.found()
	layouts := func(want ...string) {
		s.Helper()
		got, err := s.Layouts(s.Context(), s.terms.Namespace)
		s.must(err)
		if slices.Sort(got); !slices.Equal(got, want) {
			s.Errorf("the layouts are %q, want %q", got, want)
		}
	}
	layouts("41/10/12")
	first := s.added(7)
	s.terms.Layout = "41/12/10"
	s.must(s.Found(s.Context(), s.terms, 0))
	if layouts("41/10/12"); s.probe(lease.Query{}).Founded {
		s.Error("a second layout was added by who had not seen the first")
	}
	s.must(s.Found(s.Context(), s.terms, 1))
	layouts("41/10/12", "41/12/10")
	if p := s.probe(lease.Query{}); !p.Founded || p.Found {
		s.Errorf("the second layout: %+v", p)
	}
	second := s.claim(s.claimOf(s.added(7)))
	s.terms.Layout = "41/10/12"
	if p := s.probe(lease.Query{}); !p.Found || !same(p.Free, first) {
		s.Errorf("the row of the first layout was %+v and is %+v, with %+v of the second", first, p.Free, second)
	}

	s.terms.Namespace, s.terms.Layout = "another", "left behind"
	s.added(7)
	layouts("left behind")
}

func absent(s *subject) {
	here, another := s.terms, s.terms
	another.Namespace = "another"
	s.must(s.Found(s.Context(), another, 0))
	s.must(s.Replace(s.Context(), another, 3))
	p := s.probe(lease.Query{})
	if p.Founded || p.Found {
		s.Errorf("got %+v", p)
	}
	if at := time.UnixMicro(p.Now); at.Before(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)) {
		s.Errorf("the store's time is %v", at)
	}
	s.must(s.Fence(s.Context(), here, ""))
	s.must(s.Bear(s.Context(), here, 0, 1023))
	if p := s.probe(lease.Query{}); p.Founded || p.Found {
		s.Error("a fence or a birth has founded it")
	}
}

func units(s *subject) {
	for _, unit := range []time.Duration{time.Microsecond, time.Millisecond, 10 * time.Millisecond, time.Second, time.Minute, time.Hour, 24 * time.Hour, 7 * time.Hour / 3} {
		for _, epoch := range []int{1970, 2025, 2200} {
			s.terms.Namespace = fmt.Sprint(unit, epoch)
			s.terms.Unit, s.terms.PerTick = unit.Microseconds(), 1<<8
			s.terms.Epoch = time.Date(epoch, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
			before := s.now()
			s.found()
			p := s.probe(lease.Query{})
			s.at(s.terms.Founding, "the fence at first", p.Fence, before, p.Now)
			s.must(s.Fence(s.Context(), s.terms, ""))
			s.must(s.Bear(s.Context(), s.terms, 0, 6))
			added, born := s.added(7), s.row(0)
			p = s.probe(lease.Query{})
			s.at(s.terms.Beyond, "the fence", p.Fence, before, p.Now)
			if born.Bound != 0 {
				s.Errorf("the bound at birth is %d, want 0", born.Bound)
			}
			s.capped("the bound of a new row", added.Bound, before, p.Now)
			claimed := s.claim(s.claimOf(added))
			s.capped("the bound", claimed.Bound, claimed.Now, claimed.Now)
		}
	}
}

// Workers are born in order, each once.
func born(s *subject) {
	s.found()
	bear := func(min, max int64) {
		s.Helper()
		s.must(s.Bear(s.Context(), s.terms, min, max))
	}
	bear(0, 1023)
	row := s.row(0)
	if row.Worker != 0 || row.Bound != 0 || row.Token != "" || row.Label != "" || row.Revision != 0 || !s.terms.Free(row) {
		s.Errorf("born: %+v", row)
	}
	held := s.claim(s.claimOf(row))
	bear(0, 1)
	bear(0, 1) // there is none left of them
	bear(5, 6)
	bear(0, 1023)
	bear(8, 8)
	bear(8, 8)
	bear(3, 4) // passed over
	rows, err := s.Rows(s.Context(), s.terms, 0, 1023)
	s.must(err)
	var workers []int64
	for _, r := range rows {
		workers = append(workers, r.Worker)
	}
	if want := []int64{0, 1, 5, 6, 8}; !slices.Equal(workers, want) || !same(rows[0], held) {
		s.Errorf("workers %v, want %v; %+v was held: %+v", workers, want, rows[0], held)
	}
	if p := s.probe(lease.Query{}); p.Born != 9 {
		s.Errorf("born are %d, want 9", p.Born)
	}
}

// A worker whose row is deleted is not born again.
func bornNoMore(s *subject) {
	op := s.operator()
	s.found()
	for range 2 {
		s.must(s.Bear(s.Context(), s.terms, 0, 1023))
	}
	s.must(op.Delete(s.Context(), s.terms, 0))
	s.must(op.Delete(s.Context(), s.terms, 1))
	s.must(s.Bear(s.Context(), s.terms, 0, 1023))
	rows, err := s.Rows(s.Context(), s.terms, 0, 1023)
	s.must(err)
	if len(rows) != 1 || rows[0].Worker != 2 {
		s.Errorf("after 0 and 1 were deleted, born is %+v", rows)
	}
}

func bornAtOnce(s *subject) {
	s.found()
	const n, patience = 64, 20
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			var err error
			for range patience { // some stores err when two updates meet
				if err = s.Bear(s.Context(), s.terms, 0, n-1); err == nil {
					return
				}
			}
			s.Error(err)
		})
	}
	wg.Wait()
	rows, err := s.Rows(s.Context(), s.terms, 0, 1023)
	s.must(err)
	if p := s.probe(lease.Query{}); len(rows) != n || p.Born != n {
		s.Errorf("%d rows, %d born, want %d", len(rows), p.Born, n)
	}
}

func bornBefore(s *subject) {
	for _, worker := range []int64{3, 7, 5} {
		s.must(s.Replace(s.Context(), s.terms, worker))
	}
	s.must(s.Found(s.Context(), s.terms, 1)) // their layout was seen
	if p := s.probe(lease.Query{}); p.Born != 8 {
		s.Errorf("with rows up to 7, %d are born", p.Born)
	}
	s.must(s.Bear(s.Context(), s.terms, 0, 1023))
	s.claim(s.claimOf(s.row(8)))
}

func unborn(s *subject) {
	s.found()
	s.must(s.Bear(s.Context(), s.terms, 6, 6))
	s.must(s.Replace(s.Context(), s.terms, 7))
	late := s.row(7)
	_, ok, err := s.Claim(s.Context(), s.claimOf(late))
	s.untouched("a claim", late, ok, err)
	s.must(s.Bear(s.Context(), s.terms, 7, 7))
	if counted := s.row(7); !same(counted, late) {
		s.Errorf("its birth made %+v of %+v", counted, late)
	}
	s.claim(s.claimOf(late))
}

func replaced(s *subject) {
	s.found()
	before := s.now()
	row := s.added(7)
	s.capped("the bound", row.Bound, before, row.Now)
	if row.Worker != 7 || row.Token != "" || row.Label != "" || !s.terms.Free(row) {
		s.Errorf("added: %+v", row)
	}
}

func replacedOnce(s *subject) {
	s.found()
	held := s.claim(s.claimOf(s.added(7)))
	s.terms.Ahead *= 2
	if again := s.added(7); !same(again, held) {
		s.Errorf("%+v became %+v", held, again)
	}
}

func claimFree(s *subject) {
	s.found()
	for _, worker := range []int64{0, 7, s.terms.Workers - 1} {
		row := s.claim(s.claimOf(s.added(worker)))
		s.capped("the bound", row.Bound, row.Now, row.Now)
	}
}

func claimExpired(s *subject) {
	s.found()
	free := s.added(7)
	s.terms.TTL = lapsed
	expired := s.claim(s.claimOf(free))
	second := s.claimOf(expired)
	second.Label = "host/2"
	s.claim(second)
}

// The next server's clock may be behind this one's: to it, the lease is alive.
func justExpired(s *subject) {
	s.found()
	free := s.added(7)
	s.terms.TTL = -1
	expired := s.claim(s.claimOf(free))
	_, ok, err := s.Renew(s.Context(), s.renewalOf(expired))
	s.untouched("a renewal", expired, ok, err)
	_, ok, err = s.Claim(s.Context(), s.claimOf(expired))
	s.untouched("a claim", expired, ok, err)
	if p := s.probe(lease.Query{}); p.Found {
		s.Errorf("a probe finds %+v", p.Free)
	}
	s.terms.Skew = 0
	s.claim(s.claimOf(expired))
}

func claimRefused(s *subject) {
	s.found()
	var seen lease.Row
	for what, change := range map[string]func(*lease.Claim){
		"another token":     func(c *lease.Claim) { c.Seen.Token = rand.Text() },
		"no token":          func(c *lease.Claim) { c.Seen.Token = "" },
		"a later revision":  func(c *lease.Claim) { c.Seen.Revision++ },
		"a former revision": func(c *lease.Claim) { c.Seen.Revision-- },
		"a lower bound":     func(c *lease.Claim) { c.Seen.Bound-- },
		"a higher bound":    func(c *lease.Claim) { c.Seen.Bound++ },
		"a lower fence":     func(c *lease.Claim) { c.Fence-- },
		"another layout":    func(c *lease.Claim) { c.Terms.Layout = "41/10/13" },
		"another namespace": func(c *lease.Claim) { c.Terms.Namespace = "another" },
		"no such row":       func(c *lease.Claim) { c.Seen.Worker++ },
	} {
		s.terms.TTL = lapsed
		seen = s.claim(s.claimOf(s.added(7)))
		c := s.claimOf(seen)
		change(&c)
		_, ok, err := s.Claim(s.Context(), c)
		s.untouched(what, seen, ok, err)
	}

	s.terms.TTL = millisecond.TTL
	held := s.claim(s.claimOf(s.added(7)))
	_, ok, err := s.Claim(s.Context(), s.claimOf(held))
	s.untouched("a live lease", held, ok, err)

	s.terms.TTL = lapsed
	expired := s.renew(s.renewalOf(held))
	c := s.claimOf(expired)
	c.Seen.Token, c.Seen.Revision = held.Token, held.Revision
	_, ok, err = s.Claim(s.Context(), c)
	s.untouched("the lease before its renewal", expired, ok, err)

	op := s.operator()
	s.must(op.SetFingerprint(s.Context(), s.terms, "another database"))
	_, ok, err = s.Claim(s.Context(), s.claimOf(expired))
	s.untouched("another database", expired, ok, err)
}

func claimBound(s *subject) {
	s.found()
	s.terms.TTL = lapsed
	bounds(s, s.added(7), func(before lease.Row, wanted int64) lease.Row {
		c := s.claimOf(before)
		c.Wanted = wanted
		return s.claim(c)
	})
}

func renewBound(s *subject) {
	s.found()
	bounds(s, s.claim(s.claimOf(s.added(7))), func(before lease.Row, wanted int64) lease.Row {
		r := s.renewalOf(before)
		r.Wanted = wanted
		return s.renew(r)
	})
}

// bounds raises the bound of a row in all ways there are.
func bounds(s *subject, row lease.Row, raise func(before lease.Row, wanted int64) lease.Row) {
	s.Helper()
	bound := row.Bound
	check := func(what string, wanted, bound int64) {
		s.Helper()
		if row = raise(row, wanted); row.Bound != bound {
			s.Errorf("%s: the bound is %d, want %d", what, row.Bound, bound)
		}
	}
	s.terms.Ahead *= 2
	check("nothing is wanted", 0, bound)
	check("one is wanted", bound+1, bound+1)
	check("three more are wanted", bound+4, bound+4)
	row = raise(row, everything)
	s.capped("the bound when everything is wanted", row.Bound, row.Now, row.Now)
	s.terms.Ahead /= 4
	check("the cap is below the bound", everything, row.Bound)
}

func renew(s *subject) {
	s.found()
	row := s.claim(s.claimOf(s.added(7)))
	for range 3 {
		row = s.renew(s.renewalOf(row))
		s.capped("the bound", row.Bound, row.Now, row.Now)
	}
	s.release(s.releaseOf(row))
}

func renewRefused(s *subject) {
	s.found()
	for what, change := range map[string]func(*lease.Renewal){
		"another token":     func(r *lease.Renewal) { r.Held.Token = rand.Text() },
		"no token":          func(r *lease.Renewal) { r.Held.Token = "" },
		"a later revision":  func(r *lease.Renewal) { r.Held.Revision++ },
		"a former revision": func(r *lease.Renewal) { r.Held.Revision-- },
		"another layout":    func(r *lease.Renewal) { r.Terms.Layout = "41/10/13" },
		"another namespace": func(r *lease.Renewal) { r.Terms.Namespace = "another" },
		"no such row":       func(r *lease.Renewal) { r.Held.Worker++ },
	} {
		s.terms.Namespace = what
		s.found()
		held := s.claim(s.claimOf(s.added(7)))
		r := s.renewalOf(held)
		change(&r)
		_, ok, err := s.Renew(s.Context(), r)
		s.untouched(what, held, ok, err)
	}
	s.terms.Namespace = "orders"
	free := s.added(7)
	held := s.claim(s.claimOf(free))
	_, ok, err := s.Renew(s.Context(), s.renewalOf(free))
	s.untouched("the row before its claim", held, ok, err)

	renewed := s.renew(s.renewalOf(held))
	_, ok, err = s.Renew(s.Context(), s.renewalOf(held))
	s.untouched("the lease before its renewal", renewed, ok, err)

	s.terms.TTL = lapsed
	expired := s.renew(s.renewalOf(renewed))
	_, ok, err = s.Renew(s.Context(), s.renewalOf(expired))
	s.untouched("an expired lease", expired, ok, err)

	s.terms.TTL = millisecond.TTL
	freed := s.release(s.releaseOf(s.claim(s.claimOf(expired))))
	_, ok, err = s.Renew(s.Context(), s.renewalOf(freed))
	s.untouched("a lease given back", freed, ok, err)
}

func release(s *subject) {
	s.found()
	held := s.claim(s.claimOf(s.added(7)))
	r := s.releaseOf(held)
	r.Unused = held.Bound - 1
	free := s.release(r)
	if free.Token != "" || free.Revision <= held.Revision || free.Bound != r.Unused || free.Label != held.Label {
		s.Errorf("released: %+v became %+v", held, free)
	}
	if p := s.probe(lease.Query{}); !p.Found || !same(p.Free, free) {
		s.Errorf("a probe finds %+v, want %+v", p.Free, free)
	}
	c := s.claimOf(free)
	c.Wanted = 0
	if again := s.claim(c); again.Bound != free.Bound {
		s.Errorf("the next range begins at %d, want %d", again.Bound, free.Bound)
	}
}

func releaseBound(s *subject) {
	s.found()
	held := s.claim(s.claimOf(s.added(7)))
	r := s.releaseOf(held)
	r.Unused = held.Bound + 1
	if free := s.release(r); free.Bound != held.Bound {
		s.Errorf("the bound is %d, want %d", free.Bound, held.Bound)
	}
}

func releaseRefused(s *subject) {
	s.found()
	held := s.claim(s.claimOf(s.added(7)))
	for what, change := range map[string]func(*lease.Release){
		"another token":     func(r *lease.Release) { r.Held.Token = rand.Text() },
		"no token":          func(r *lease.Release) { r.Held.Token = "" },
		"a later revision":  func(r *lease.Release) { r.Held.Revision++ },
		"a former revision": func(r *lease.Release) { r.Held.Revision-- },
		"another layout":    func(r *lease.Release) { r.Terms.Layout = "41/10/13" },
		"another namespace": func(r *lease.Release) { r.Terms.Namespace = "another" },
		"no such row":       func(r *lease.Release) { r.Held.Worker++ },
	} {
		r := s.releaseOf(held)
		r.Unused = 0
		change(&r)
		ok, err := s.Release(s.Context(), r)
		s.untouched(what, held, ok, err)
	}
	free := s.release(s.releaseOf(held))
	r := s.releaseOf(held)
	r.Unused = 0
	ok, err := s.Release(s.Context(), r)
	s.untouched("a lease given back", free, ok, err)
}

func probeRange(s *subject) {
	s.found()
	for _, worker := range []int64{9, 10, 20, 21} {
		s.added(worker)
	}
	for _, q := range []struct{ min, max, want int64 }{{10, 19, 10}, {11, 20, 20}, {20, 20, 20}, {11, 19, -1}, {22, 1023, -1}} {
		for range 8 {
			p := s.probe(lease.Query{Min: q.min, Max: q.max})
			if p.Found != (q.want >= 0) || p.Found && p.Free.Worker != q.want {
				s.Errorf("from %d to %d: found %v, worker %d; want worker %d", q.min, q.max, p.Found, p.Free.Worker, q.want)
			}
			if p.Found && !same(p.Free, s.row(q.want)) {
				s.Errorf("from %d to %d: %+v is not the row", q.min, q.max, p.Free)
			}
		}
	}
}

func probeLeased(s *subject) {
	s.found()
	held := s.claim(s.claimOf(s.added(7)))
	if p := s.probe(lease.Query{Prefer: held.Label}); p.Found {
		s.Errorf("found the leased row %+v", p.Free)
	}
	s.terms.TTL = lapsed
	expired := s.renew(s.renewalOf(held))
	if p := s.probe(lease.Query{}); !p.Found || !same(p.Free, expired) {
		s.Errorf("found %v, %+v; want the expired row %+v", p.Found, p.Free, expired)
	}
}

func probeReady(s *subject) {
	s.found()
	var ready []int64
	for worker := range int64(16) {
		if held := s.claim(s.claimOf(s.added(worker))); worker%2 == 0 {
			ready = append(ready, worker)
			r := s.releaseOf(held)
			r.Unused = s.terms.Counter(held.Now) - 1
			s.release(r)
		} else {
			s.release(s.releaseOf(held))
		}
	}
	seen := make(map[int64]bool)
	for range 64 {
		p := s.probe(lease.Query{})
		seen[p.Free.Worker] = true
		if !p.Found || !slices.Contains(ready, p.Free.Worker) {
			s.Fatalf("found %v, worker %d, whose numbers are ahead of time", p.Found, p.Free.Worker)
		}
	}
	if _, ordered := s.Store.(Ordered); ordered {
		if len(seen) > 1 || !seen[ready[0]] {
			s.Errorf("found the workers %v, want %d alone", slices.Sorted(maps.Keys(seen)), ready[0])
		}
	} else if len(seen) < 2 {
		s.Error("64 processes would all try the same row")
	}
}

func probeLabel(s *subject) {
	s.found()
	for worker := range int64(16) {
		c := s.claimOf(s.added(worker))
		c.Label = fmt.Sprint("host/", worker)
		r := s.releaseOf(s.claim(c))
		if r.Unused -= s.terms.PerTick; worker != 7 {
			r.Unused = 0 // all others are ready
		}
		s.release(r)
	}
	s.added(16)
	for range 8 {
		if p := s.probe(lease.Query{Prefer: "host/7"}); p.Free.Worker != 7 {
			s.Fatalf("found worker %d", p.Free.Worker)
		}
		if p := s.probe(lease.Query{Prefer: ""}); p.Free.Worker == 16 {
			s.Fatal("a row that nobody had is preferred for it")
		}
		if p := s.probe(lease.Query{Prefer: "another"}); !p.Found {
			s.Fatal("a label that nobody had finds nothing")
		}
	}
}

// With ticks of an hour, the row that the label prefers has nothing left.
func probeSpent(s *subject) {
	s.terms.Unit = time.Hour.Microseconds()
	s.found()
	for worker, label := range []string{"spent", "half spent", "unused"} {
		c := s.claimOf(s.added(int64(worker)))
		c.Label = label
		r := s.releaseOf(s.claim(c))
		r.Unused = s.terms.Cap(s.now())
		if label == "half spent" {
			r.Unused -= s.terms.PerTick / 2
		} else if label == "unused" {
			r.Unused = 0
		}
		s.release(r)
	}
	for prefer, want := range map[string]int64{"spent": 2, "half spent": 1, "unused": 2, "": 2} {
		if p := s.probe(lease.Query{Prefer: prefer}); p.Free.Worker != want {
			s.Errorf("with %q preferred, worker %d is found; want %d", prefer, p.Free.Worker, want)
		}
	}
	if p := s.probe(lease.Query{Min: 0, Max: 1}); p.Free.Worker != 1 {
		s.Errorf("of a spent and a half spent worker, %d is found", p.Free.Worker)
	}
	if p := s.probe(lease.Query{Min: 0, Max: 0, Prefer: "x"}); s.terms.Workers > 1 && !p.Found {
		s.Error("a spent row is not found at all")
	}
}

func rows(s *subject) {
	s.found()
	list := func(min, max int64) (workers []int64) {
		rows, err := s.Rows(s.Context(), s.terms, min, max)
		s.must(err)
		for _, r := range rows {
			workers = append(workers, r.Worker)
		}
		return workers
	}
	if got := list(0, 1023); len(got) != 0 {
		s.Errorf("an empty namespace has the rows %v", got)
	}
	for _, worker := range []int64{20, 9, 1000, 10} {
		s.added(worker)
	}
	if got, want := list(10, 1000), []int64{10, 20, 1000}; !slices.Equal(got, want) {
		s.Errorf("got %v, want %v", got, want)
	}
}

func claimers(s *subject) {
	s.found()
	for worker := range int64(64) {
		s.added(worker)
	}
	s.raceFor64(func() error { return nil })
}

// raceFor64 has 64 processes get a lease of as many numbers, each by itself.
// Before, they prepare. Whatever a store calls an error when two updates meet
// (a deadlock, a transaction that cannot be serialised) may be tried again, as
// keepers do, once for each of the others.
func (s *subject) raceFor64(prepare func() error) {
	const n, patience, steps = 64, 64, 1000
	s.terms.Workers = n
	var wg sync.WaitGroup
	leased := make([]lease.Row, n)
	errs := make([][]error, n)
	began := time.Now()
	for i := range n {
		wg.Go(func() {
			err := prepare()
			for step, done := 0, false; !done && step < steps && len(errs[i]) < patience; step++ {
				if err != nil {
					errs[i] = append(errs[i], err)
				}
				leased[i], done, err = s.step()
			}
		})
	}
	wg.Wait()
	s.Logf("64 leases after %v", time.Since(began).Round(time.Millisecond))
	seen := make(map[int64]bool)
	for i, row := range leased {
		if row.Token == "" {
			s.Errorf("process %d got no lease: %v", i, errs[i])
			continue
		}
		if seen[row.Worker] {
			s.Errorf("worker %d is leased twice", row.Worker)
		}
		seen[row.Worker] = true
		if stored := s.row(row.Worker); !same(stored, row) {
			s.Errorf("process %d holds %+v, the store %+v", i, row, stored)
		}
		for _, err := range errs[i] {
			s.Logf("process %d tried again after: %v", i, err)
		}
	}
}

// step goes one step towards a lease.
func (s *subject) step() (row lease.Row, done bool, err error) {
	ctx := s.Context()
	p, err := s.Probe(ctx, lease.Query{Terms: s.terms, Max: s.terms.Workers - 1})
	switch {
	case err != nil:
	case !p.Founded:
		err = s.Found(ctx, s.terms, 0)
	case p.Found:
		return s.Claim(ctx, s.claimOf(p.Free))
	case p.Born < s.terms.Workers:
		err = s.Bear(ctx, s.terms, 0, s.terms.Workers-1)
	default:
		err = fmt.Errorf("leasetest: no number is left, of as many as there are processes")
	}
	return lease.Row{}, false, err
}

func fence(s *subject) {
	s.found()
	first := s.probe(lease.Query{})
	s.terms.Ahead *= 2
	s.must(s.Fence(s.Context(), s.terms, "another database"))
	if p := s.probe(lease.Query{}); p.Fence != first.Fence || p.Fingerprint != first.Fingerprint {
		s.Errorf("another fingerprint was seen: %+v became %+v", first, p)
	}
	for _, seen := range []string{first.Fingerprint, ""} {
		late := s.claimOf(s.added(7)) // would begin before what is fenced off
		before := s.now()
		s.must(s.Fence(s.Context(), s.terms, seen))
		p := s.probe(lease.Query{})
		s.at(s.terms.Beyond, "the fence", p.Fence, before, p.Now)
		if _, ok, err := s.Claim(s.Context(), late); ok || err != nil {
			s.Errorf("a claim under the fence of before: %v, %v", ok, err)
		}
		s.terms.Ahead *= 2
	}
}

func fenceBound(s *subject) {
	s.found()
	first := s.probe(lease.Query{})
	s.terms.Ahead /= 2
	s.must(s.Fence(s.Context(), s.terms, ""))
	if p := s.probe(lease.Query{}); p.Fence != first.Fence {
		s.Errorf("the fence went from %d to %d", first.Fence, p.Fence)
	}
}

func otherDatabase(s *subject) {
	op := s.operator()
	s.found()
	s.must(op.SetFingerprint(s.Context(), s.terms, "another database"))
	p := s.probe(lease.Query{})
	if p.Fingerprint != "another database" || p.Current == p.Fingerprint {
		s.Fatalf("not noticed: %+v", p)
	}
	s.terms.Ahead *= 2
	s.must(s.Fence(s.Context(), s.terms, p.Fingerprint))
	fenced := s.probe(lease.Query{})
	if fenced.Fingerprint != p.Current {
		s.Errorf("not fenced: %+v", fenced)
	}
	s.at(s.terms.Beyond, "the fence", fenced.Fence, p.Now, fenced.Now)
	s.claim(s.claimOf(s.added(7)))
}

func deleted(s *subject) {
	op := s.operator()
	s.found()
	held := s.claim(s.claimOf(s.added(7)))
	s.must(op.Delete(s.Context(), s.terms, 7))
	if _, ok, err := s.Renew(s.Context(), s.renewalOf(held)); ok || err != nil {
		s.Errorf("the renewal: %v, %v", ok, err)
	}
	if ok, err := s.Release(s.Context(), s.releaseOf(held)); ok || err != nil {
		s.Errorf("the release: %v, %v", ok, err)
	}
	if _, ok, err := s.Claim(s.Context(), s.claimOf(held)); ok || err != nil {
		s.Errorf("a claim: %v, %v", ok, err)
	}
	rows, err := s.Rows(s.Context(), s.terms, 0, 1023)
	s.must(err)
	if len(rows) != 0 {
		s.Errorf("they have brought back %+v", rows)
	}
}

func edited(s *subject) {
	op := s.operator()
	s.found()
	for what, edit := range map[string]func(*lease.Row){
		"token":    func(r *lease.Row) { r.Token = rand.Text() },
		"no token": func(r *lease.Row) { r.Token = "" },
		"revision": func(r *lease.Row) { r.Revision += 7 },
		"expiry":   func(r *lease.Row) { r.Expires = r.Now - 1 },
	} {
		s.terms.Namespace = what
		s.found()
		held := s.claim(s.claimOf(s.added(7)))
		changed := held
		edit(&changed)
		s.must(op.Edit(s.Context(), s.terms, changed))
		_, ok, err := s.Renew(s.Context(), s.renewalOf(held))
		s.untouched(what, changed, ok, err)
		if what != "expiry" { // what has expired may still be given back
			ok, err = s.Release(s.Context(), s.releaseOf(held))
			s.untouched(what, changed, ok, err)
		}
	}
}

func unheld(s *subject) {
	op := s.operator()
	s.found()
	free := s.added(7)
	free.Expires = free.Now + s.terms.TTL
	s.must(op.Edit(s.Context(), s.terms, free))
	_, ok, err := s.Renew(s.Context(), s.renewalOf(free))
	s.untouched("a renewal", free, ok, err)
	if p := s.probe(lease.Query{}); !p.Found || !same(p.Free, free) {
		s.Errorf("a probe finds %+v, want %+v", p.Free, free)
	}
	s.claim(s.claimOf(free))
}

func namespaces(s *subject) {
	names := []string{"orders", "Orders", "ORDERS", "order", "orders_", "örders", "o%"}
	fences := make([]int64, len(names))
	for i, name := range names {
		s.terms.Namespace, s.terms.Layout = name, fmt.Sprint("layout ", i)
		s.found()
		s.added(int64(i + 1))
		fences[i] = s.probe(lease.Query{}).Fence
	}
	wider := s.terms
	wider.Namespace, wider.Layout = names[0], "layout 0"
	wider.Ahead *= 2
	s.must(s.Fence(s.Context(), wider, ""))
	for i, name := range names {
		s.terms.Namespace, s.terms.Layout = name, fmt.Sprint("layout ", i)
		p := s.probe(lease.Query{})
		if !p.Founded || !p.Found || p.Free.Worker != int64(i+1) {
			s.Errorf("%q: got %+v", name, p)
		}
		if i > 0 && p.Fence != fences[i] {
			s.Errorf("%q was fenced with %q", name, names[0])
		}
		rows, err := s.Rows(s.Context(), s.terms, 0, 1023)
		s.must(err)
		if len(rows) != 1 {
			s.Errorf("%q has the rows %+v", name, rows)
		}
		c := s.claimOf(p.Free)
		c.Terms.Layout = fmt.Sprint("layout ", (i+1)%len(names))
		_, ok, err := s.Claim(s.Context(), c)
		s.untouched("a claim with the layout of another namespace", p.Free, ok, err)
		s.claim(s.claimOf(p.Free))
	}
}

func oddNames(s *subject) {
	for _, name := range []string{
		"", "a'b", `a"b`, "a`b", `a\b`, `\`, "a;b--", "100%", "$1", "?", "@min", "{lease}", "a\nb", "日本語", "🜁",
		"0123456789012345678901234567890123456789012345678901234567890123", // 64 bytes
		"ääääääääääääääääääääääääääääääää",                                 // 64 bytes as well
	} {
		s.terms.Namespace = name
		s.found()
		c := s.claimOf(s.added(7))
		c.Label = name
		held := s.renew(s.renewalOf(s.claim(c)))
		free := s.release(s.releaseOf(held))
		if p := s.probe(lease.Query{Prefer: name}); !p.Founded || !p.Found || p.Free.Label != name {
			s.Errorf("%q: got %+v, want %+v", name, p, free)
		}
		s.terms.Layout = "the layout of " + name
		s.must(s.Found(s.Context(), s.terms, 1))
		s.claim(s.claimOf(s.added(7)))
		s.terms.Layout = millisecond.Layout
	}
}

func cancelled(s *subject) {
	s.found()
	held := s.claim(s.claimOf(s.added(7)))
	before := s.probe(lease.Query{})
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	another := s.terms
	another.Namespace = "another"
	calls := map[string]func() error{
		"Migrate": func() error { return s.Migrate(ctx) },
		"Layouts": func() error { _, err := s.Layouts(ctx, s.terms.Namespace); return err },
		"Found":   func() error { return s.Found(ctx, another, 0) },
		"Probe":   func() error { _, err := s.Probe(ctx, lease.Query{Terms: s.terms}); return err },
		"Fence":   func() error { return s.Fence(ctx, s.terms, "") },
		"Bear":    func() error { return s.Bear(ctx, s.terms, 0, 1023) },
		"Replace": func() error { return s.Replace(ctx, s.terms, 8) },
		"Claim":   func() error { _, _, err := s.Claim(ctx, s.claimOf(held)); return err },
		"Renew":   func() error { _, _, err := s.Renew(ctx, s.renewalOf(held)); return err },
		"Release": func() error { _, err := s.Release(ctx, s.releaseOf(held)); return err },
		"Rows":    func() error { _, err := s.Rows(ctx, s.terms, 0, 1023); return err },
	}
	for name, call := range calls {
		if err := call(); err == nil {
			s.Errorf("%s did not fail", name)
		}
	}
	rows, err := s.Rows(s.Context(), s.terms, 0, 1023)
	s.must(err)
	if len(rows) != 1 || !same(rows[0], held) {
		s.Errorf("there was %+v and is %+v", held, rows)
	}
	if after := s.probe(lease.Query{}); after.Fence != before.Fence || after.Born != before.Born {
		s.Error("the fence was raised, or a worker was born")
	}
	s.terms = another
	if s.probe(lease.Query{}).Founded {
		s.Error("a namespace was founded")
	}
}
