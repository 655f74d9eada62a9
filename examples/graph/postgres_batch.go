package main

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// oneBatch sends an order and its children in a single round trip, which is possible
// because we already know all of the keys.
func oneBatch[K any](t tables, k keys[K]) writer[pgx.Tx, K] {
	insertOrder := "INSERT INTO " + t.orders() + " (id, customer) VALUES ($1, $2)"
	insertLines := "INSERT INTO " + t.lines() + " (id, order_id, product, quantity) VALUES ($1, $2, $3, $4), ($5, $6, $7, $8), ($9, $10, $11, $12)"
	insertPayment := "INSERT INTO " + t.payments() + " (id, order_id, cents) VALUES ($1, $2, $3)"
	return writer[pgx.Tx, K]{t, func(ctx context.Context, tx pgx.Tx, orders []order[K]) error {
		for i := range orders {
			o := &orders[i]
			if err := k.fill(ctx, o); err != nil {
				return err
			}
			var b pgx.Batch
			id := k.arg(o.id)
			b.Queue(insertOrder, id, o.customer)
			var lines []any
			for _, l := range o.lines {
				lines = append(lines, k.arg(l.id), id, l.product, l.quantity)
			}
			b.Queue(insertLines, lines...)
			b.Queue(insertPayment, k.arg(o.payment.id), id, o.payment.cents)
			if err := tx.SendBatch(ctx, &b).Close(); err != nil {
				return err
			}
		}
		return nil
	}}
}

// parentThenBatch inserts an order with an auto-increment key. It has to wait for the
// key before it can send the children.
func parentThenBatch(t tables) writer[pgx.Tx, int64] {
	insertOrder := "INSERT INTO " + t.orders() + " (customer) VALUES ($1) RETURNING id"
	insertLines := "INSERT INTO " + t.lines() + " (order_id, product, quantity) VALUES ($1, $2, $3), ($4, $5, $6), ($7, $8, $9) RETURNING id"
	insertPayment := "INSERT INTO " + t.payments() + " (order_id, cents) VALUES ($1, $2) RETURNING id"
	return writer[pgx.Tx, int64]{t, func(ctx context.Context, tx pgx.Tx, orders []order[int64]) error {
		for i := range orders {
			o := &orders[i]
			if err := tx.QueryRow(ctx, insertOrder, o.customer).Scan(&o.id); err != nil {
				return err
			}
			var b pgx.Batch
			var lines []any
			for _, l := range o.lines {
				lines = append(lines, o.id, l.product, l.quantity)
			}
			b.Queue(insertLines, lines...).Query(into(lineKey(orders[i:])))
			b.Queue(insertPayment, o.id, o.payment.cents).Query(into(paymentKey(orders[i:])))
			if err := tx.SendBatch(ctx, &b).Close(); err != nil {
				return err
			}
		}
		return nil
	}}
}

// currval lets the server put the order's key into its children. This saves the round
// trip too, but the SQL only fits graphs of exactly this shape, because a child can
// refer only to the last row of each table.
func currval(t tables) writer[pgx.Tx, int64] {
	parent := "currval('" + t.orders() + "_id_seq')"
	insertOrder := "INSERT INTO " + t.orders() + " (customer) VALUES ($1) RETURNING id"
	insertLines := "INSERT INTO " + t.lines() + " (order_id, product, quantity) VALUES (" + parent + ", $1, $2), (" + parent + ", $3, $4), (" + parent + ", $5, $6) RETURNING id"
	insertPayment := "INSERT INTO " + t.payments() + " (order_id, cents) VALUES (" + parent + ", $1) RETURNING id"
	return writer[pgx.Tx, int64]{t, func(ctx context.Context, tx pgx.Tx, orders []order[int64]) error {
		for i := range orders {
			o := &orders[i]
			var b pgx.Batch
			b.Queue(insertOrder, o.customer).Query(into(orderKey(orders[i:])))
			var lines []any
			for _, l := range o.lines {
				lines = append(lines, l.product, l.quantity)
			}
			b.Queue(insertLines, lines...).Query(into(lineKey(orders[i:])))
			b.Queue(insertPayment, o.payment.cents).Query(into(paymentKey(orders[i:])))
			if err := tx.SendBatch(ctx, &b).Close(); err != nil {
				return err
			}
		}
		return nil
	}}
}

// into returns a function that reads the i-th row into the i-th key. Note that Postgres
// doesn't guarantee to number and return the rows in the order of the statement, even
// though it does.
func into(key func(i int) *int64) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		defer rows.Close()
		for i := 0; rows.Next(); i++ {
			if err := rows.Scan(key(i)); err != nil {
				return err
			}
		}
		return rows.Err()
	}
}
