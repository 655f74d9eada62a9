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
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/metrics/internal/figures"
)

const scope = "github.com/snowkey-go/snowkey/metrics/snowkeyotel"

// Register registers a pool's instruments. The attributes are added to each measurement,
// so you can tell several pools apart. If pool is nil, each collection uses the
// [idgen.Default] pool at that time, and there are no measurements without one.
//
// Collecting doesn't take ids from the pool. Call Unregister on the result to stop
// measuring. Any error comes from the provider.
func Register(provider metric.MeterProvider, pool *idgen.Pool, attributes ...attribute.KeyValue) (metric.Registration, error) {
	return register(provider, func() []figures.Figure { return figures.Pool(pool) }, attributes)
}

// RegisterSegment registers a segment's instruments, just like [Register] does for a
// pool. Collecting doesn't use up any numbers.
func RegisterSegment(provider metric.MeterProvider, s *segment.Segment, attributes ...attribute.KeyValue) (metric.Registration, error) {
	return register(provider, func() []figures.Figure { return figures.Segment(s) }, attributes)
}

func register(provider metric.MeterProvider, read func() []figures.Figure, attributes []attribute.KeyValue) (metric.Registration, error) {
	meter := provider.Meter(scope)
	var instruments []metric.Observable
	for _, f := range read() {
		name, unit, description := "snowkey."+f.Name, metric.WithUnit(f.Unit), metric.WithDescription(f.Help)
		var instrument metric.Observable
		var err error
		switch inSeconds := f.Unit == "s"; {
		case f.Kind == figures.Gauge && inSeconds:
			instrument, err = meter.Float64ObservableGauge(name, unit, description)
		case f.Kind == figures.Gauge:
			instrument, err = meter.Int64ObservableGauge(name, unit, description)
		case inSeconds:
			instrument, err = meter.Float64ObservableCounter(name, unit, description)
		default:
			instrument, err = meter.Int64ObservableCounter(name, unit, description)
		}
		if err != nil {
			return nil, err
		}
		instruments = append(instruments, instrument)
	}
	return meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for i, f := range read() {
			for _, v := range f.Values {
				with := slices.Clone(attributes)
				for j, label := range f.Labels {
					with = append(with, attribute.String("snowkey."+strings.Replace(label, "for", "wait.reason", 1), v.Labels[j]))
				}
				switch instrument := instruments[i].(type) {
				case metric.Int64Observable:
					o.ObserveInt64(instrument, v.N, metric.WithAttributes(with...))
				case metric.Float64Observable:
					o.ObserveFloat64(instrument, f.Float(v), metric.WithAttributes(with...))
				}
			}
		}
		return nil
	}, instruments...)
}
