package entid

import (
	"context"
	"reflect"
	"sync"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/fill"
)

// Reserve returns a context for a bulk create, with which the ids of the next n rows
// are generated in one step:
//
//	client.User.CreateBulk(builders...).Save(entid.Reserve(ctx, len(builders)))
//
// Without Reserve the id of each row is generated separately, because ent calls its
// hooks for one row at a time. In both cases the ids ascend in the order of the rows,
// and an error inserts no rows. Reserve helps if each call of the source is expensive,
// or if the ids of a bulk create should be consecutive.
//
// The ids come from the source of the first row. Rows with other sources, and rows
// after the first n, get theirs separately. Reserved ids that are left over are never
// used. The context is safe for concurrent use.
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

// draw returns one id from src, which is a reserved one if ctx has a reservation for
// src.
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

// take returns a reserved id of src, or an id of 0 and how many ids the caller must
// reserve.
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

// put stores the ids that the caller has reserved, except for the first, which it
// returns. If reserving them failed with err, put returns err, and the next row may try
// again.
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
