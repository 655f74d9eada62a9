// Package figures is the table of what packages snowkeyotel and snowkeyprom export.
package figures

import (
	"cmp"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/segment"
)

// A Figure has a value, or one for each value of a label.
type Figure struct {
	Kind   Kind
	Name   string // as in OpenTelemetry, without the prefix
	Unit   string // "s" if the values are nanoseconds
	Help   string
	Labels []string // as in Prometheus; none if there's only one value
	Values []Value  // none if it isn't known
	Count  int64    // of a Summary: how often something took the time that is its value
}

// A Kind says how the values change.
type Kind int

// These are the kinds.
const (
	Gauge   Kind = iota
	Counter      // only grows
	Summary      // a counter of the time that something took
)

// A Value is one of a [Figure].
type Value struct {
	Labels []string
	N      int64
}

// Float returns a value in the figure's unit.
func (f Figure) Float(v Value) float64 {
	if f.Unit == "s" {
		return time.Duration(v.N).Seconds()
	}
	return float64(v.N)
}

var reason, state, cause, result = []string{"for"}, []string{"state"}, []string{"cause"}, []string{"result"}

// Pool returns a pool's figures. If pool is nil, it's the default pool; without one, no figure has
// values. Those about leases have none if the worker number isn't leased.
func Pool(pool *idgen.Pool) []Figure {
	pool = cmp.Or(pool, idgen.Default())
	s, h := pool.Stats(), pool.Health()
	var states []string
	for other := idgen.Serving; other <= idgen.Closed; other++ {
		states = append(states, other.String())
	}
	var number []Value
	if n, ok := pool.Worker(); ok {
		number = one(n)
	}
	always := []Figure{
		{Counter, "ids.issued", "{id}", "Ids that were made.", nil, one(s.Issued), 0},
		{Counter, "waits", "{call}", "Calls that waited for the clock or the lease.", reason, two("clock", s.Waits, "lease", s.LeaseWaits), 0},
		{Counter, "wait.duration", "s", "How long calls waited for the clock or the lease.", reason, two("clock", s.WaitTime, "lease", s.LeaseWaitTime), 0},
		{Counter, "clock.errors", "{call}", "Calls that failed because the clock was behind.", nil, one(s.ClockErrors), 0},
		{Gauge, "lead", "s", "How far the latest id is ahead of the clock.", nil, one(s.Lead), 0},
		{Gauge, "names", "{name}", "Generators of the pool.", nil, one(s.Names), 0},
		{Gauge, "state", "1", "1 for the state of the pool, 0 for the other states.", state, which(states, h.State.String()), 0},
		{Gauge, "layout.remaining", "s", "How long until the layout is exhausted.", nil, one(h.Remaining), 0},
	}
	all := append(always,
		Figure{Gauge, "worker.number", "1", "The leased worker number.", nil, number, 0},
		Figure{Gauge, "unleased", "1", "1 for the cause why the lease grants no ids, 0 for the other causes.", cause, which(idgen.Causes, h.Cause), 0},
		Figure{Gauge, "lease.window", "s", "How long ids can be issued without another renewal.", nil, one(s.Window), 0},
		Figure{Counter, "lease.claims", "{lease}", "Leases that were claimed.", nil, one(s.Lease.Claims), 0},
		Figure{Counter, "lease.losses", "{lease}", "Leases that were lost.", nil, one(s.Lease.Losses), 0},
		Figure{Counter, "lease.renewals", "{renewal}", "Renewals of the lease by their result.", result, two("ok", s.Lease.Renewals, "failed", s.Lease.Failures), 0},
		Figure{Summary, "lease.renewal.duration", "s", "How long renewals took.", nil, one(s.Lease.RenewalTime), s.Lease.Renewals + s.Lease.Failures},
	)
	for i := range all {
		if pool == nil || s.Window == idgen.NoLimit && i >= len(always) {
			all[i].Values = nil
		}
	}
	return all
}

// Segment returns a segment's figures, all of which have values. Without one they don't matter.
func Segment(s *segment.Segment) []Figure {
	var stats segment.Stats
	var h segment.Health
	if s != nil {
		stats, h = s.Stats(), s.Health()
	}
	return []Figure{
		{Counter, "segment.issued", "{number}", "Numbers that calls have got.", nil, one(stats.Issued), 0},
		{Gauge, "segment.ready", "{number}", "Fetched numbers that are not used yet.", nil, one(h.Ready), 0},
		{Gauge, "segment.remaining", "{number}", "Numbers that are left to fetch.", nil, one(h.Remaining), 0},
		{Counter, "segment.waits", "{call}", "Calls that had to wait for a fetch.", nil, one(stats.Waits), 0},
		{Counter, "segment.wait.duration", "s", "How long calls waited for a fetch.", nil, one(stats.WaitTime), 0},
		{Counter, "segment.fetches", "{fetch}", "Fetches by their result.", result, two("ok", stats.Fetches, "failed", stats.Failures), 0},
		{Summary, "segment.fetch.duration", "s", "How long fetches took.", nil, one(stats.FetchTime), stats.Fetches + stats.Failures},
	}
}

func one[N ~int | ~int64](n N) []Value { return []Value{{nil, int64(n)}} }

func two[N ~int64](a string, n N, b string, m N) []Value {
	return []Value{{[]string{a}, int64(n)}, {[]string{b}, int64(m)}}
}

// which returns 1 for one of the names, and 0 for the others.
func which(names []string, is string) (values []Value) {
	for _, name := range names {
		n := int64(0)
		if name == is {
			n = 1
		}
		values = append(values, Value{[]string{name}, n})
	}
	return values
}
