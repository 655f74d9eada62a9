package snowkeyotel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/snowkey-go/snowkey/internal/leased"
	"github.com/snowkey-go/snowkey/lease"
)

// Trace wraps a store, creating a span for each claim ("snowkey.lease.claim"), renewal
// ("snowkey.lease.renew") and release ("snowkey.lease.release"). Pass the result to
// snowkey.Open in place of the store. Pools make these calls every few seconds at most,
// and never for an id.
//
// Spans have the attributes snowkey.namespace, snowkey.worker.number and, unless the call
// fails, snowkey.lease.granted, which is false if another process got there first.
// Renewals run in the background, so their spans have no parent.
func Trace(store lease.Store, provider trace.TracerProvider) lease.Store {
	return tracedStore{store, provider.Tracer(scope)}
}

type tracedStore struct {
	lease.Store
	tracer trace.Tracer
}

// Reserve calls the store's Reserve, if it has one.
func (s tracedStore) Reserve() (release func(), warning string) { return leased.Reserve(s.Store) }

func (s tracedStore) start(ctx context.Context, name string, terms lease.Terms, worker int64) (context.Context, trace.Span) {
	return s.tracer.Start(ctx, "snowkey.lease."+name, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("snowkey.namespace", terms.Namespace), attribute.Int64("snowkey.worker.number", worker)))
}

func end(span trace.Span, granted bool, err error) {
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
	} else {
		span.SetAttributes(attribute.Bool("snowkey.lease.granted", granted))
	}
	span.End()
}

func (s tracedStore) Claim(ctx context.Context, c lease.Claim) (row lease.Row, ok bool, err error) {
	ctx, span := s.start(ctx, "claim", c.Terms, c.Seen.Worker)
	defer func() { end(span, ok, err) }()
	return s.Store.Claim(ctx, c)
}

func (s tracedStore) Renew(ctx context.Context, r lease.Renewal) (row lease.Row, ok bool, err error) {
	ctx, span := s.start(ctx, "renew", r.Terms, r.Held.Worker)
	defer func() { end(span, ok, err) }()
	return s.Store.Renew(ctx, r)
}

func (s tracedStore) Release(ctx context.Context, terms lease.Terms, held lease.Row, unused int64) (ok bool, err error) {
	ctx, span := s.start(ctx, "release", terms, held.Worker)
	defer func() { end(span, ok, err) }()
	return s.Store.Release(ctx, terms, held, unused)
}
