// Package snowkeyprom exports the state of a pool of ids, or of a segment of dense
// numbers, to Prometheus.
//
//	prometheus.MustRegister(snowkeyprom.NewCollector(ids))
//
// [NewCollector] always exports these metrics for a pool:
//
//	snowkey_ids_issued_total                 ids that were issued
//	snowkey_waits_total{for}                 calls that had to wait for the clock or the lease
//	snowkey_wait_seconds_total{for}          total time spent in these waits
//	snowkey_clock_errors_total               calls that failed because the clock was behind
//	snowkey_lead_seconds                     how far the latest id is ahead of the clock
//	snowkey_names                            number of generators in the pool
//	snowkey_state{state}                     1 for the pool's current state, 0 for all others
//	snowkey_layout_remaining_seconds         time until the layout is exhausted
//
// These are only exported if the worker number is leased:
//
//	snowkey_worker_number                    the worker number, unless there is currently no lease
//	snowkey_unleased{cause}                  1 if there are no ids because of the lease, by cause (blocked, no_answer or other)
//	snowkey_lease_window_seconds             how long ids can be issued without a renewal
//	snowkey_lease_claims_total               leases that were claimed
//	snowkey_lease_losses_total               leases that were lost
//	snowkey_lease_renewals_total{result}     renewals, by result (ok or failed)
//	snowkey_lease_renewal_seconds            a summary of how long renewals took
//
// [NewSegmentCollector] exports a source of dense numbers:
//
//	snowkey_segment_issued_total             numbers that were returned by calls
//	snowkey_segment_ready                    numbers that were fetched but not used yet
//	snowkey_segment_remaining                numbers that are left to fetch
//	snowkey_segment_waits_total              calls that had to wait for a fetch
//	snowkey_segment_wait_seconds_total       total time spent in these waits
//	snowkey_segment_fetches_total{result}    fetches, by result (ok or failed)
//	snowkey_segment_fetch_seconds            a summary of how long fetches took
//
// If you have several pools or segments, add a label to each:
//
//	prometheus.WrapRegistererWith(prometheus.Labels{"pool": "orders"}, registry).MustRegister(…)
package snowkeyprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/segment"
)

var (
	issued    = describe("ids_issued_total", "Ids that were made.")
	waits     = describe("waits_total", "Calls that waited for the clock or the lease.", "for")
	waited    = describe("wait_seconds_total", "How long calls waited for the clock or the lease.", "for")
	refused   = describe("clock_errors_total", "Calls that failed because the clock was behind.")
	lead      = describe("lead_seconds", "How far the latest id is ahead of the clock.")
	names     = describe("names", "Generators of the pool.")
	state     = describe("state", "1 for the state of the pool, 0 for the other states.", "state")
	remaining = describe("layout_remaining_seconds", "How long until the layout is exhausted.")

	unleased = describe("unleased", "1 for the cause why the lease grants no ids, 0 for the other causes.", "cause")
	worker   = describe("worker_number", "The leased worker number.")
	window   = describe("lease_window_seconds", "How long ids can be issued without another renewal.")
	claims   = describe("lease_claims_total", "Leases that were claimed.")
	losses   = describe("lease_losses_total", "Leases that were lost.")
	renewals = describe("lease_renewals_total", "Renewals of the lease by their result.", "result")
	renewing = describe("lease_renewal_seconds", "How long renewals took.")

	segmentIssued    = describe("segment_issued_total", "Numbers that calls have got.")
	segmentReady     = describe("segment_ready", "Fetched numbers that are not used yet.")
	segmentRemaining = describe("segment_remaining", "Numbers that are left to fetch.")
	segmentWaits     = describe("segment_waits_total", "Calls that had to wait for a fetch.")
	segmentWaited    = describe("segment_wait_seconds_total", "How long calls waited for a fetch.")
	segmentFetches   = describe("segment_fetches_total", "Fetches by their result.", "result")
	segmentFetching  = describe("segment_fetch_seconds", "How long fetches took.")
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("snowkey_"+name, help, labels, nil)
}

type collector struct{ pool *idgen.Pool }

// NewCollector returns a collector for a pool's metrics. If pool is nil, each collection
// uses the [idgen.Default] pool at that time, and there are no metrics without one.
//
// The collector is safe for concurrent use. Collecting doesn't take ids from the pool. It
// does get slower as the number of names in the pool grows.
func NewCollector(pool *idgen.Pool) prometheus.Collector { return collector{pool} }

// Describe implements [prometheus.Collector].
func (c collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{issued, waits, waited, refused, lead, names, state, unleased, remaining, worker, window, claims, losses, renewals, renewing} {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (c collector) Collect(to chan<- prometheus.Metric) {
	pool := c.pool
	if pool == nil {
		pool = idgen.Default()
	}
	if pool == nil {
		return
	}
	count, gauge := values(to)
	s, h := pool.Stats(), pool.Health()
	count(issued, float64(s.Issued))
	count(waits, float64(s.Waits), "clock")
	count(waited, s.WaitTime.Seconds(), "clock")
	count(waits, float64(s.LeaseWaits), "lease")
	count(waited, s.LeaseWaitTime.Seconds(), "lease")
	count(refused, float64(s.ClockErrors))
	gauge(lead, s.Lead.Seconds())
	gauge(names, float64(s.Names))
	gauge(remaining, h.Remaining.Seconds())
	for other := idgen.Serving; other <= idgen.Closed; other++ {
		is := 0.0
		if other == h.State {
			is = 1
		}
		gauge(state, is, other.String())
	}
	if s.Window == idgen.NoLimit {
		return // there is no lease
	}
	for _, cause := range idgen.Causes {
		is := 0.0
		if cause == h.Cause {
			is = 1
		}
		gauge(unleased, is, cause)
	}
	if number, ok := pool.Worker(); ok {
		gauge(worker, float64(number))
	}
	gauge(window, s.Window.Seconds())
	count(claims, float64(s.Lease.Claims))
	count(losses, float64(s.Lease.Losses))
	count(renewals, float64(s.Lease.Renewals), "ok")
	count(renewals, float64(s.Lease.Failures), "failed")
	to <- prometheus.MustNewConstSummary(renewing, uint64(s.Lease.Renewals+s.Lease.Failures), s.Lease.RenewalTime.Seconds(), nil)
}

// values returns two functions, which send the value of a counter and of a gauge.
func values(to chan<- prometheus.Metric) (count, gauge func(d *prometheus.Desc, n float64, labels ...string)) {
	of := func(kind prometheus.ValueType) func(*prometheus.Desc, float64, ...string) {
		return func(d *prometheus.Desc, n float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(d, kind, n, labels...)
		}
	}
	return of(prometheus.CounterValue), of(prometheus.GaugeValue)
}

type segmentCollector struct{ segment *segment.Segment }

// NewSegmentCollector returns a collector for a segment's metrics. It's safe for
// concurrent use. Collecting doesn't use up any numbers.
func NewSegmentCollector(s *segment.Segment) prometheus.Collector { return segmentCollector{s} }

// Describe implements [prometheus.Collector].
func (c segmentCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{segmentIssued, segmentReady, segmentRemaining, segmentWaits, segmentWaited, segmentFetches, segmentFetching} {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (c segmentCollector) Collect(to chan<- prometheus.Metric) {
	count, gauge := values(to)
	s, h := c.segment.Stats(), c.segment.Health()
	count(segmentIssued, float64(s.Issued))
	gauge(segmentReady, float64(h.Ready))
	gauge(segmentRemaining, float64(h.Remaining))
	count(segmentWaits, float64(s.Waits))
	count(segmentWaited, s.WaitTime.Seconds())
	count(segmentFetches, float64(s.Fetches), "ok")
	count(segmentFetches, float64(s.Failures), "failed")
	to <- prometheus.MustNewConstSummary(segmentFetching, uint64(s.Fetches+s.Failures), s.FetchTime.Seconds(), nil)
}
