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
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/metrics/internal/figures"
)

type collector struct{ read func() []figures.Figure }

// NewCollector returns a collector for a pool's metrics. If pool is nil, each collection
// uses the [idgen.Default] pool at that time, and there are no metrics without one.
//
// The collector is safe for concurrent use. Collecting doesn't take ids from the pool. It
// does get slower as the number of names in the pool grows.
func NewCollector(pool *idgen.Pool) prometheus.Collector {
	return &collector{func() []figures.Figure { return figures.Pool(pool) }}
}

// NewSegmentCollector returns a collector for a segment's metrics. It's safe for
// concurrent use. Collecting doesn't use up any numbers.
func NewSegmentCollector(s *segment.Segment) prometheus.Collector {
	return &collector{func() []figures.Figure { return figures.Segment(s) }}
}

// describe gives a figure its name in Prometheus: wait_seconds_total for wait.duration.
func describe(f figures.Figure) *prometheus.Desc {
	name := strings.ReplaceAll(strings.TrimSuffix(f.Name, ".duration"), ".", "_")
	if f.Unit == "s" {
		name += "_seconds"
	}
	if f.Kind == figures.Counter {
		name += "_total"
	}
	return prometheus.NewDesc("snowkey_"+name, f.Help, f.Labels, nil)
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, f := range c.read() {
		to <- describe(f)
	}
}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(to chan<- prometheus.Metric) {
	for _, f := range c.read() {
		desc, kind := describe(f), prometheus.GaugeValue
		if f.Kind == figures.Counter {
			kind = prometheus.CounterValue
		}
		for _, v := range f.Values {
			if f.Kind == figures.Summary {
				to <- prometheus.MustNewConstSummary(desc, uint64(f.Count), f.Float(v), nil)
			} else {
				to <- prometheus.MustNewConstMetric(desc, kind, f.Float(v), v.Labels...)
			}
		}
	}
}
