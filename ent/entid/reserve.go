package entid

import (
	"context"
	"reflect"
	"sync"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/fill"
)

// Reserve returns a context whose next n ids are drawn in one step, for a bulk
// create:
//
//	client.User.CreateBulk(builders...).Save(entid.Reserve(ctx, len(builders)))
//
// Without it each row draws its own, because ent shows its hooks one row at a time. The
// ids ascend in the order of the rows either way, and an error inserts none of them. A
// reservation helps if a step is expensive, or if the ids of a call should be
// consecutive.
//
// The ids come from the source of the first row. Rows with other sources, and rows past
// n, draw their own. Ids that are left over are never used. The context is safe for
// concurrent use.
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

// draw returns one id from src, or from the reservation for src that ctx holds.
func draw(ctx context.Context, src idgen.Source) (int64, error) {
	r, ok := ctx.Value(reservationKey{}).(*reservation)
	// If a source cannot be compared, the next row cannot find its reservation.
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
	ids, err := fill.Append(ctx, src, nil, n) // may wait, so not under the lock
	return r.put(src, ids, n, err)
}

// take returns a reserved id of src, or else how many the caller shall reserve.
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

// put stores what the caller reserved, except for the first, which it returns.
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
