package entid

import (
	"context"
	"reflect"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/fill"
)

// Reserve returns a context with which a bulk create generates the ids for its next n rows in
// a single step:
//
//	client.User.CreateBulk(builders...).Save(entid.Reserve(ctx, len(builders)))
//
// ent runs its hooks one row at a time, so ids are normally generated one by one. They're in
// row order either way, and nothing is inserted if there's an error. Reserve mainly helps
// when calling the source is expensive, or if you'd like a bulk create to have consecutive
// ids.
//
// The first row's source provides the ids. Rows after the first n, or with another source,
// get theirs individually, and any reserved ids left over at the end are lost. The context is
// safe for concurrent use.
func Reserve(ctx context.Context, n int) context.Context {
	return context.WithValue(ctx, reservationKey{}, &reservation{turn: make(chan struct{}, 1), n: n})
}

type reservationKey struct{}

type reservation struct {
	turn chan struct{} // holds a value while a row uses the other fields
	n    int           // ids to reserve; 0 once they are
	src  idgen.Source  // where ids came from
	ids  []int64       // those not yet used
}

// A reserving is a source that uses the reservation in a context first.
type reserving struct{ idgen.Source }

func (s reserving) Next(ctx context.Context) (int64, error) {
	r, ok := ctx.Value(reservationKey{}).(*reservation)
	// If we can't compare sources, the next row wouldn't find its reservation.
	if ok && reflect.ValueOf(s.Source).Comparable() {
		if id, err := r.take(ctx, s.Source); id != 0 || err != nil {
			return id, err
		}
	}
	return s.Source.Next(ctx)
}

// take returns a reserved id of src, or 0 if there is none. The first row makes the
// reservation, and the next one if that fails. Other rows wait for it.
func (r *reservation) take(ctx context.Context, src idgen.Source) (id int64, err error) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	if r.n > 0 {
		if r.ids, err = fill.Take(ctx, src, r.n); err != nil {
			return 0, err
		}
		r.src, r.n = src, 0
	}
	if len(r.ids) > 0 && r.src == src {
		id, r.ids = r.ids[0], r.ids[1:]
	}
	return id, nil
}
