package main

import (
	"context"
	"database/sql"
	"strings"
)

// manyRows inserts all orders, then all lines, and then all payments.
func manyRows[K any](t tables, k keys[K]) writer[*sql.Conn, K] {
	return writer[*sql.Conn, K]{t, func(ctx context.Context, conn *sql.Conn, orders []order[K]) error {
		for i := range orders {
			if err := k.fill(ctx, &orders[i]); err != nil {
				return err
			}
		}
		err := insert(ctx, conn, t.orders()+" (id, customer)", len(orders), func(args []any, i int) []any {
			return append(args, k.arg(orders[i].id), orders[i].customer)
		}, nil)
		if err != nil {
			return err
		}
		err = insert(ctx, conn, t.lines()+" (id, order_id, product, quantity)", len(orders)*linesEach, func(args []any, i int) []any {
			o := &orders[i/linesEach]
			l := &o.lines[i%linesEach]
			return append(args, k.arg(l.id), k.arg(o.id), l.product, l.quantity)
		}, nil)
		if err != nil {
			return err
		}
		return insert(ctx, conn, t.payments()+" (id, order_id, cents)", len(orders), func(args []any, i int) []any {
			o := &orders[i]
			return append(args, k.arg(o.payment.id), k.arg(o.id), o.payment.cents)
		}, nil)
	}}
}

// manyRowsNumbered is like manyRows, but with auto-increment keys. Within an INSERT,
// each key is greater than the previous one by step.
func manyRowsNumbered(t tables, step int64) writer[*sql.Conn, int64] {
	return writer[*sql.Conn, int64]{t, func(ctx context.Context, conn *sql.Conn, orders []order[int64]) error {
		err := insert(ctx, conn, t.orders()+" (customer)", len(orders), func(args []any, i int) []any {
			return append(args, orders[i].customer)
		}, &numbers{orderKey(orders), step})
		if err != nil {
			return err
		}
		err = insert(ctx, conn, t.lines()+" (order_id, product, quantity)", len(orders)*linesEach, func(args []any, i int) []any {
			o := &orders[i/linesEach]
			l := &o.lines[i%linesEach]
			return append(args, o.id, l.product, l.quantity)
		}, &numbers{lineKey(orders), step})
		if err != nil {
			return err
		}
		return insert(ctx, conn, t.payments()+" (order_id, cents)", len(orders), func(args []any, i int) []any {
			return append(args, orders[i].id, orders[i].payment.cents)
		}, &numbers{paymentKey(orders), step})
	}}
}

// numbers describes where to store the auto-increment keys of an INSERT.
type numbers struct {
	key  func(i int) *int64 // points to the key of the i-th row
	step int64
}

// insert inserts n rows, a thousand per statement, calling row to append the values of
// the i-th row. If to is not nil, insert stores the new keys where to points.
func insert(ctx context.Context, conn *sql.Conn, into string, n int, row func(args []any, i int) []any, to *numbers) error {
	const most = 1000
	columns := strings.Count(into, ",") + 1
	marks := ", (?" + strings.Repeat(", ?", columns-1) + ")"
	var args []any
	for at := 0; at < n; at += most {
		end := min(at+most, n)
		args = args[:0]
		for i := at; i < end; i++ {
			args = row(args, i)
		}
		result, err := conn.ExecContext(ctx, "INSERT INTO "+into+" VALUES "+strings.Repeat(marks, end-at)[2:], args...)
		if err != nil {
			return err
		}
		if to == nil {
			continue
		}
		id, err := result.LastInsertId() // the key of the first row
		if err != nil {
			return err
		}
		for i := at; i < end; i++ {
			*to.key(i) = id
			id += to.step
		}
	}
	return nil
}
