package entid

import (
	"context"
	"reflect"
	"sync"

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
	return context.WithValue(ctx, reservationKey{}, &reservation{n: n})
}

type reservationKey struct{}

type reservation struct {
	mu  sync.Mutex
	n   int          // ids to reserve; 0 once they are
	src idgen.Source // where ids came from
	ids []int64      // those not yet used
}

// draw returns an id from src. If ctx has a reservation for src, it uses a reserved one.
func draw(ctx context.Context, src idgen.Source) (int64, error) {
	r, ok := ctx.Value(reservationKey{}).(*reservation)
	// If we can't compare sources, the next row wouldn't find its reservation.
	if !ok || !reflect.ValueOf(src).Comparable() {
		return src.Next(ctx)
	}
	id, n := r.take(src)
	switch {
	case id != 0:
		return id, nil
	case n == 0:
		return src.Next(ctx)
	}
	ids, err := fill.Take(ctx, src, n) // may wait, so not under the lock
	return r.put(src, ids, n, err)
}

// take returns a reserved id of src. If there is none, it returns 0 and the number of ids
// that the caller must reserve.
func (r *reservation) take(src idgen.Source) (id int64, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ids) > 0 && r.src == src {
		id, r.ids = r.ids[0], r.ids[1:]
		return id, 0
	}
	n, r.n = r.n, 0
	return 0, n
}

// put stores the ids reserved by the caller, except for the first one, which it returns. If
// reserving them has failed with err, put returns err, and the next row can try again.
func (r *reservation) put(src idgen.Source, ids []int64, n int, err error) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.n = n // for the next attempt
		return 0, err
	}
	r.src, r.ids = src, ids[1:]
	return ids[0], nil
}
