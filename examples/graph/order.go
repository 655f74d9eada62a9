package main

import "fmt"

// linesEach is the number of lines in an order. objectsEach is the number of rows that
// it takes in total.
const (
	linesEach   = 3
	objectsEach = 1 + linesEach + 1
)

// An order is the graph that the program writes, a parent with its children. K is the
// type of the keys, which writers fill in.
type order[K any] struct {
	id       K
	customer string
	lines    [linesEach]line[K]
	payment  payment[K]
}

type line[K any] struct {
	id       K
	product  string
	quantity int32
}

type payment[K any] struct {
	id    K
	cents int64
}

// newOrders returns n orders without keys. No two objects are alike, so a test can tell
// if a child ends up with the wrong parent.
func newOrders[K any](first, n int) []order[K] {
	orders := make([]order[K], n)
	for i := range orders {
		o, number := &orders[i], first+i
		o.customer = fmt.Sprintf("customer %d", number)
		for j := range o.lines {
			o.lines[j].product = fmt.Sprintf("product %d", j)
			o.lines[j].quantity = int32(number)
		}
		o.payment.cents = int64(number)
	}
	return orders
}

// orderKey, lineKey and paymentKey return a function that points to the key of the i-th
// order, line or payment.
func orderKey[K any](orders []order[K]) func(i int) *K {
	return func(i int) *K { return &orders[i].id }
}

func lineKey[K any](orders []order[K]) func(i int) *K {
	return func(i int) *K { return &orders[i/linesEach].lines[i%linesEach].id }
}

func paymentKey[K any](orders []order[K]) func(i int) *K {
	return func(i int) *K { return &orders[i].payment.id }
}

// rows returns the rows that the database should contain for these orders. It is used
// by tests.
func rows[K any](orders []order[K]) (rows []string) {
	for _, o := range orders {
		rows = append(rows, fmt.Sprint("order ", o.id, " ", o.customer), fmt.Sprint("payment ", o.payment.id, " of ", o.id, " ", o.payment.cents))
		for _, l := range o.lines {
			rows = append(rows, fmt.Sprint("line ", l.id, " of ", o.id, " ", l.product, " ", l.quantity))
		}
	}
	return rows
}
