package main

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/snowkey-go/snowkey/hooks/pgxid"
)

// A copier copies rows after filling in the keys, which are in the first column. The
// rows contain pointers to these keys.
type copier func(ctx context.Context, db pgxid.DB, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error)

// copied sends all orders, all lines and all payments using one COPY each.
func copied[K any](t tables, k keys[K], copyFrom copier) writer[pgx.Tx, K] {
	return writer[pgx.Tx, K]{t, func(ctx context.Context, tx pgx.Tx, orders []order[K]) error {
		_, err := copyFrom(ctx, tx, pgx.Identifier{t.orders()}, []string{"id", "customer"},
			pgx.CopyFromSlice(len(orders), func(i int) ([]any, error) {
				o := &orders[i]
				return []any{&o.id, o.customer}, nil
			}))
		if err != nil {
			return err
		}
		_, err = copyFrom(ctx, tx, pgx.Identifier{t.lines()}, []string{"id", "order_id", "product", "quantity"},
			pgx.CopyFromSlice(len(orders)*linesEach, func(i int) ([]any, error) {
				o := &orders[i/linesEach]
				l := &o.lines[i%linesEach]
				return []any{&l.id, k.arg(o.id), l.product, l.quantity}, nil
			}))
		if err != nil {
			return err
		}
		_, err = copyFrom(ctx, tx, pgx.Identifier{t.payments()}, []string{"id", "order_id", "cents"},
			pgx.CopyFromSlice(len(orders), func(i int) ([]any, error) {
				o := &orders[i]
				return []any{&o.payment.id, k.arg(o.id), o.payment.cents}, nil
			}))
		return err
	}}
}

// copyUUIDs fills in UUIDs in the same way that pgxid fills in our keys.
func copyUUIDs(k keys[uuid.UUID]) copier {
	return func(ctx context.Context, db pgxid.DB, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
		return db.CopyFrom(ctx, table, columns, uuidRows{rows, k})
	}
}

type uuidRows struct {
	pgx.CopyFromSource
	keys keys[uuid.UUID]
}

func (r uuidRows) Values() ([]any, error) {
	cells, err := r.CopyFromSource.Values()
	if err != nil {
		return nil, err
	}
	id := cells[0].(*uuid.UUID)
	if *id, err = uuid.NewV7(); err != nil {
		return nil, err
	}
	cells[0] = r.keys.arg(*id)
	return cells, nil
}

// copyAsIs copies rows that already have their keys.
func copyAsIs(ctx context.Context, db pgxid.DB, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	return db.CopyFrom(ctx, table, columns, rows)
}

// reserved first fetches all keys from the sequences, and then copies the rows.
func reserved(t tables) writer[pgx.Tx, int64] {
	copy := copied(t, keys[int64]{arg: func(id int64) any { return id }}, copyAsIs)
	return writer[pgx.Tx, int64]{t, func(ctx context.Context, tx pgx.Tx, orders []order[int64]) error {
		for _, table := range []struct {
			name string
			keys int
			key  func(i int) *int64
		}{
			{t.orders(), len(orders), orderKey(orders)},
			{t.lines(), len(orders) * linesEach, lineKey(orders)},
			{t.payments(), len(orders), paymentKey(orders)},
		} {
			rows, err := tx.Query(ctx, "SELECT nextval('"+table.name+"_id_seq') FROM generate_series(1, $1::int)", table.keys)
			if err != nil {
				return err
			}
			if err := into(table.key)(rows); err != nil {
				return err
			}
		}
		return copy.write(ctx, tx, orders)
	}}
}

// insertReturning inserts all orders in one statement and waits for their keys. It then
// does the same with all lines, and with all payments. We use INSERT from unnest
// because no other statement that returns keys is as fast.
func insertReturning(t tables) writer[pgx.Tx, int64] {
	insertOrders := "INSERT INTO " + t.orders() + " (customer) SELECT * FROM unnest($1::text[]) RETURNING id"
	insertLines := "INSERT INTO " + t.lines() + " (order_id, product, quantity) SELECT * FROM unnest($1::bigint[], $2::text[], $3::int[]) RETURNING id"
	insertPayments := "INSERT INTO " + t.payments() + " (order_id, cents) SELECT * FROM unnest($1::bigint[], $2::bigint[]) RETURNING id"
	return writer[pgx.Tx, int64]{t, func(ctx context.Context, tx pgx.Tx, orders []order[int64]) error {
		customers := make([]string, len(orders))
		for i := range orders {
			customers[i] = orders[i].customer
		}
		found, err := tx.Query(ctx, insertOrders, customers)
		if err != nil {
			return err
		}
		if err := into(orderKey(orders))(found); err != nil {
			return err
		}

		parents := make([]int64, 0, len(orders)*linesEach)
		products := make([]string, 0, cap(parents))
		quantities := make([]int32, 0, cap(parents))
		for i := range orders {
			for _, l := range orders[i].lines {
				parents = append(parents, orders[i].id)
				products = append(products, l.product)
				quantities = append(quantities, l.quantity)
			}
		}
		if found, err = tx.Query(ctx, insertLines, parents, products, quantities); err != nil {
			return err
		}
		if err := into(lineKey(orders))(found); err != nil {
			return err
		}

		parents = parents[:0]
		cents := make([]int64, len(orders))
		for i := range orders {
			parents = append(parents, orders[i].id)
			cents[i] = orders[i].payment.cents
		}
		if found, err = tx.Query(ctx, insertPayments, parents, cents); err != nil {
			return err
		}
		return into(paymentKey(orders))(found)
	}}
}
