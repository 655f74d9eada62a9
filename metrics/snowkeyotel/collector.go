// Package snowkeyotel exports the state of a pool of ids through OpenTelemetry, and
// traces its leases.
//
// [Register] always adds these instruments to a meter provider:
//
//	snowkey.ids.issued                 {id}       ids that were issued
//	snowkey.waits                      {call}     calls that had to wait, by snowkey.wait.reason
//	snowkey.wait.duration              s          total time spent in these waits
//	snowkey.clock.errors               {call}     calls that failed because the clock was behind
//	snowkey.lead                       s          how far the latest id is ahead of the clock
//	snowkey.names                      {name}     number of generators in the pool
//	snowkey.state                      1          1 for the pool's current snowkey.state, 0 for all others
//	snowkey.layout.remaining           s          time until the layout is exhausted
//
// These are only measured if the worker number is leased:
//
//	snowkey.worker.number              1          the worker number, unless there is currently no lease
//	snowkey.unleased                   1          1 for the snowkey.cause if there are no ids because of the lease
//	snowkey.lease.window               s          how long ids can be issued without a renewal
//	snowkey.lease.claims               {lease}    leases that were claimed
//	snowkey.lease.losses               {lease}    leases that were lost
//	snowkey.lease.renewals             {renewal}  renewals, by snowkey.result
//	snowkey.lease.renewal.duration     s          total time spent in renewals
//
// [RegisterSegment] adds these for a source of dense numbers:
//
//	snowkey.segment.issued             {number}   numbers that were returned by calls
//	snowkey.segment.ready              {number}   numbers that were fetched but not used yet
//	snowkey.segment.remaining          {number}   numbers that are left to fetch
//	snowkey.segment.waits              {call}     calls that had to wait for a fetch
//	snowkey.segment.wait.duration      s          total time spent in these waits
//	snowkey.segment.fetches            {fetch}    fetches, by snowkey.result
//	snowkey.segment.fetch.duration     s          total time spent in fetches
//
// To get a span for each claim, renewal and release, wrap your lease store with [Trace].
package snowkeyotel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/segment"
)

const scope = "github.com/snowkey-go/snowkey/metrics/snowkeyotel"

// Register registers a pool's instruments. The attributes are added to each measurement,
// so you can tell several pools apart. If pool is nil, each collection uses the
// [idgen.Default] pool at that time, and there are no measurements without one.
//
// Collecting doesn't take ids from the pool. Call Unregister on the result to stop
// measuring. Any error comes from the provider.
func Register(provider metric.MeterProvider, pool *idgen.Pool, attributes ...attribute.KeyValue) (metric.Registration, error) {
	i := instruments{meter: provider.Meter(scope)}
	var (
		issued    = i.counter("ids.issued", "{id}", "Ids that were made.")
		waits     = i.counter("waits", "{call}", "Calls that waited for the clock or the lease.")
		waited    = i.seconds("wait.duration", "How long calls waited for the clock or the lease.")
		refused   = i.counter("clock.errors", "{call}", "Calls that failed because the clock was behind.")
		lead      = i.time("lead", "How far the latest id is ahead of the clock.")
		names     = i.gauge("names", "{name}", "Generators of the pool.")
		state     = i.gauge("state", "1", "1 for the state of the pool, 0 for the other states.")
		unleased  = i.gauge("unleased", "1", "1 for the cause why the lease grants no ids, 0 for the other causes.")
		remaining = i.time("layout.remaining", "Time until the layout is exhausted.")
		worker    = i.gauge("worker.number", "1", "The leased worker number.")
		window    = i.time("lease.window", "How long ids can be issued without another renewal.")
		claims    = i.counter("lease.claims", "{lease}", "Leases that were claimed.")
		losses    = i.counter("lease.losses", "{lease}", "Leases that were lost.")
		renewals  = i.counter("lease.renewals", "{renewal}", "Renewals of the lease by their result.")
		renewing  = i.seconds("lease.renewal.duration", "How long renewals took.")
	)
	return i.register(attributes, func(o observer) {
		pool := pool
		if pool == nil {
			pool = idgen.Default()
		}
		if pool == nil {
			return
		}
		s, h := pool.Stats(), pool.Health()
		forClock, forLease := attribute.String("snowkey.wait.reason", "clock"), attribute.String("snowkey.wait.reason", "lease")
		o.number(issued, s.Issued)
		o.number(waits, s.Waits, forClock)
		o.time(waited, s.WaitTime, forClock)
		o.number(waits, s.LeaseWaits, forLease)
		o.time(waited, s.LeaseWaitTime, forLease)
		o.number(refused, s.ClockErrors)
		o.time(lead, s.Lead)
		o.number(names, int64(s.Names))
		o.time(remaining, h.Remaining)
		for other := idgen.Serving; other <= idgen.Closed; other++ {
			is := int64(0)
			if other == h.State {
				is = 1
			}
			o.number(state, is, attribute.String("snowkey.state", other.String()))
		}
		if s.Window == idgen.NoLimit {
			return // there is no lease
		}
		for _, cause := range idgen.Causes {
			is := int64(0)
			if cause == h.Cause {
				is = 1
			}
			o.number(unleased, is, attribute.String("snowkey.cause", cause))
		}
		if number, ok := pool.Worker(); ok {
			o.number(worker, number)
		}
		o.time(window, s.Window)
		o.number(claims, s.Lease.Claims)
		o.number(losses, s.Lease.Losses)
		o.number(renewals, s.Lease.Renewals, succeeded)
		o.number(renewals, s.Lease.Failures, failed)
		o.time(renewing, s.Lease.RenewalTime)
	})
}

var succeeded, failed = attribute.String("snowkey.result", "ok"), attribute.String("snowkey.result", "failed")

// RegisterSegment registers a segment's instruments, just like [Register] does for a
// pool. Collecting doesn't use up any numbers.
func RegisterSegment(provider metric.MeterProvider, s *segment.Segment, attributes ...attribute.KeyValue) (metric.Registration, error) {
	i := instruments{meter: provider.Meter(scope)}
	var (
		issued    = i.counter("segment.issued", "{number}", "Numbers that calls have got.")
		ready     = i.gauge("segment.ready", "{number}", "Fetched numbers that are not used yet.")
		remaining = i.gauge("segment.remaining", "{number}", "Numbers that are left to fetch.")
		waits     = i.counter("segment.waits", "{call}", "Calls that had to wait for a fetch.")
		waited    = i.seconds("segment.wait.duration", "How long calls waited for a fetch.")
		fetches   = i.counter("segment.fetches", "{fetch}", "Fetches by their result.")
		fetching  = i.seconds("segment.fetch.duration", "How long fetches took.")
	)
	return i.register(attributes, func(o observer) {
		stats, h := s.Stats(), s.Health()
		o.number(issued, stats.Issued)
		o.number(ready, h.Ready)
		o.number(remaining, h.Remaining)
		o.number(waits, stats.Waits)
		o.time(waited, stats.WaitTime)
		o.number(fetches, stats.Fetches, succeeded)
		o.number(fetches, stats.Failures, failed)
		o.time(fetching, stats.FetchTime)
	})
}

// instruments creates observable instruments, and remembers the first error.
type instruments struct {
	meter metric.Meter
	all   []metric.Observable
	err   error
}

func add[T metric.Observable](i *instruments, instrument T, err error) T {
	i.all = append(i.all, instrument)
	if i.err == nil {
		i.err = err
	}
	return instrument
}

func (i *instruments) counter(name, unit, description string) metric.Int64Observable {
	c, err := i.meter.Int64ObservableCounter("snowkey."+name, metric.WithUnit(unit), metric.WithDescription(description))
	return add(i, c, err)
}

func (i *instruments) gauge(name, unit, description string) metric.Int64Observable {
	g, err := i.meter.Int64ObservableGauge("snowkey."+name, metric.WithUnit(unit), metric.WithDescription(description))
	return add(i, g, err)
}

// seconds creates a counter for a total time.
func (i *instruments) seconds(name, description string) metric.Float64Observable {
	c, err := i.meter.Float64ObservableCounter("snowkey."+name, metric.WithUnit("s"), metric.WithDescription(description))
	return add(i, c, err)
}

// time creates a gauge for a time.
func (i *instruments) time(name, description string) metric.Float64Observable {
	g, err := i.meter.Float64ObservableGauge("snowkey."+name, metric.WithUnit("s"), metric.WithDescription(description))
	return add(i, g, err)
}

func (i *instruments) register(attributes []attribute.KeyValue, observe func(observer)) (metric.Registration, error) {
	if i.err != nil {
		return nil, i.err
	}
	return i.meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		observe(observer{to, attributes})
		return nil
	}, i.all...)
}

type observer struct {
	to         metric.Observer
	attributes []attribute.KeyValue
}

func (o observer) with(attributes []attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributes(append(attributes, o.attributes...)...)
}

func (o observer) number(i metric.Int64Observable, n int64, attributes ...attribute.KeyValue) {
	o.to.ObserveInt64(i, n, o.with(attributes))
}

func (o observer) time(i metric.Float64Observable, d time.Duration, attributes ...attribute.KeyValue) {
	o.to.ObserveFloat64(i, d.Seconds(), o.with(attributes))
}
