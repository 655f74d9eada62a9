package main

import (
	"context"
	"database/sql"
	"database/sql/driver"

	mysqldriver "github.com/go-sql-driver/mysql"
)

// oneText sends an order and its children in a single round trip, which is possible
// because we already know all of the keys.
func oneText[K any](t tables, k keys[K]) writer[*sql.Conn, K] {
	text := "INSERT INTO " + t.orders() + " (id, customer) VALUES (?, ?)" +
		"; INSERT INTO " + t.lines() + " (id, order_id, product, quantity) VALUES (?, ?, ?, ?), (?, ?, ?, ?), (?, ?, ?, ?)" +
		"; INSERT INTO " + t.payments() + " (id, order_id, cents) VALUES (?, ?, ?)"
	return writer[*sql.Conn, K]{t, func(ctx context.Context, conn *sql.Conn, orders []order[K]) error {
		for i := range orders {
			o := &orders[i]
			if err := k.fill(ctx, o); err != nil {
				return err
			}
			id := k.arg(o.id)
			args := []any{id, o.customer}
			for _, l := range o.lines {
				args = append(args, k.arg(l.id), id, l.product, l.quantity)
			}
			args = append(args, k.arg(o.payment.id), id, o.payment.cents)
			if _, err := conn.ExecContext(ctx, text, args...); err != nil {
				return err
			}
		}
		return nil
	}}
}

// parentThenText inserts an order with an auto-increment key. It has to wait for the
// key before it can send the children.
func parentThenText(t tables, step int64) writer[*sql.Conn, int64] {
	parent := "INSERT INTO " + t.orders() + " (customer) VALUES (?)"
	children := "INSERT INTO " + t.lines() + " (order_id, product, quantity) VALUES (?, ?, ?), (?, ?, ?), (?, ?, ?)" +
		"; INSERT INTO " + t.payments() + " (order_id, cents) VALUES (?, ?)"
	return writer[*sql.Conn, int64]{t, func(ctx context.Context, conn *sql.Conn, orders []order[int64]) error {
		for i := range orders {
			o := &orders[i]
			ids, err := execAll(ctx, conn, parent, o.customer)
			if err != nil {
				return err
			}
			o.id = ids[0]
			var args []driver.Value
			for _, l := range o.lines {
				args = append(args, o.id, l.product, int64(l.quantity))
			}
			args = append(args, o.id, o.payment.cents)
			if ids, err = execAll(ctx, conn, children, args...); err != nil {
				return err
			}
			numberChildren(o, ids, step)
		}
		return nil
	}}
}

// variable lets the server put the order's key into its children. This saves the round
// trip too, but the SQL only fits graphs of exactly this shape.
func variable(t tables, step int64) writer[*sql.Conn, int64] {
	text := "INSERT INTO " + t.orders() + " (customer) VALUES (?); SET @parent = LAST_INSERT_ID()" +
		"; INSERT INTO " + t.lines() + " (order_id, product, quantity) VALUES (@parent, ?, ?), (@parent, ?, ?), (@parent, ?, ?)" +
		"; INSERT INTO " + t.payments() + " (order_id, cents) VALUES (@parent, ?)"
	return writer[*sql.Conn, int64]{t, func(ctx context.Context, conn *sql.Conn, orders []order[int64]) error {
		for i := range orders {
			o := &orders[i]
			args := []driver.Value{o.customer}
			for _, l := range o.lines {
				args = append(args, l.product, int64(l.quantity))
			}
			ids, err := execAll(ctx, conn, text, append(args, o.payment.cents)...)
			if err != nil {
				return err
			}
			o.id = ids[0]
			numberChildren(o, ids[2:], step)
		}
		return nil
	}}
}

// execAll sends a text that consists of several statements. For each of them, it
// returns the key of the first row.
func execAll(ctx context.Context, conn *sql.Conn, text string, args ...driver.Value) (ids []int64, err error) {
	named := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: arg}
	}
	err = conn.Raw(func(conn any) error {
		result, err := conn.(driver.ExecerContext).ExecContext(ctx, text, named)
		if err != nil {
			return err
		}
		ids = result.(mysqldriver.Result).AllLastInsertIds()
		return nil
	})
	return ids, err
}

// numberChildren computes the keys of the lines and the payment, given the keys of the
// first line and of the payment. Within an INSERT, each key is greater than the
// previous one by step.
func numberChildren(o *order[int64], ids []int64, step int64) {
	for i := range o.lines {
		o.lines[i].id = ids[0] + step*int64(i)
	}
	o.payment.id = ids[1]
}
