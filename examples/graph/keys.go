package main

import (
	"context"

	"github.com/google/uuid"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// keys generates keys before rows are sent, and converts them for a driver.
type keys[K any] struct {
	draw func(ctx context.Context, to []K) error
	arg  func(K) any
}

// fill sets the keys of an order and of its children.
func (k keys[K]) fill(ctx context.Context, o *order[K]) error {
	var drawn [objectsEach]K
	if err := k.draw(ctx, drawn[:]); err != nil {
		return err
	}
	o.id, o.payment.id = drawn[0], drawn[1]
	for i := range o.lines {
		o.lines[i].id = drawn[2+i]
	}
	return nil
}

// snowkeys draws all keys of an order from pool in a single call.
func snowkeys(pool *idgen.Pool) keys[pk.ID] {
	return keys[pk.ID]{
		draw: func(ctx context.Context, to []pk.ID) error {
			ids, err := pool.NextN(ctx, len(to))
			for i, id := range ids {
				to[i] = pk.ID(id)
			}
			return err
		},
		arg: func(id pk.ID) any { return id },
	}
}

// uuids generates UUIDs of version 7, which come out of google/uuid in ascending order.
func uuids(arg func(uuid.UUID) any) keys[uuid.UUID] {
	return keys[uuid.UUID]{
		draw: func(_ context.Context, to []uuid.UUID) (err error) {
			for i := range to {
				if to[i], err = uuid.NewV7(); err != nil {
					return err
				}
			}
			return nil
		},
		arg: arg,
	}
}
