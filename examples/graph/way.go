package main

import (
	"context"
	"runtime"
	"time"
)

// A writer writes orders into its own tables within a transaction. When it's done,
// every object must have the key of its row.
type writer[Tx, K any] struct {
	tables tables
	write  func(ctx context.Context, tx Tx, orders []order[K]) error
}

// A way is a writer, without the types of its transactions and keys.
type way struct {
	name   string
	tables tables
	bar    float64 // how much faster ours should be; 0 if there is no bar

	// write writes n new orders in one transaction, and returns the time it took.
	write func(ctx context.Context, n int) (time.Duration, error)

	// rows describes the orders written by the last call of write.
	rows func() []string
}

// transact runs a function in a transaction, which it commits if the function returns
// nil and otherwise rolls back.
type transact[Tx any] func(ctx context.Context, f func(Tx) error) error

func newWay[Tx, K any](name string, bar float64, in transact[Tx], w writer[Tx, K]) way {
	var orders []order[K]
	written := 0
	return way{
		name: name, tables: w.tables, bar: bar,
		write: func(ctx context.Context, n int) (time.Duration, error) {
			orders = newOrders[K](written, n)
			written += n
			runtime.GC() // make sure that we don't pay for the garbage of another way
			start := time.Now()
			err := in(ctx, func(tx Tx) error { return w.write(ctx, tx, orders) })
			return time.Since(start), err
		},
		rows: func() []string { return rows(orders) },
	}
}
