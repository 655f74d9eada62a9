package main

import (
	"math/rand/v2"

	"gorm.io/gorm"
)

// rows contains the keys of committed rows by table.
type rows map[string][]int64

func (r rows) add(table string, id int64) { r[table] = append(r[table], id) }

// count returns the number of rows in all tables.
func (r rows) count() (n int) {
	for _, ids := range r {
		n += len(ids)
	}
	return n
}

// merge adds the rows of others.
func (r rows) merge(others rows) {
	for table, ids := range others {
		r[table] = append(r[table], ids...)
	}
}

// any returns the key of a random row of the table.
func (r rows) any(table string, random *rand.Rand) int64 {
	return r[table][random.IntN(len(r[table]))]
}

// seed uses the old models to fill the tables with about total rows, and returns their
// keys.
func seed(db *gorm.DB, total int) (rows, error) {
	random := rand.New(rand.NewPCG(1, 2))
	seeded := make(rows)
	share := func(twentieths int) int { return max(total*twentieths/20, 1) }

	customers := make([]customer[int64], share(2))
	for i := range customers {
		customers[i].Name = name(random)
	}
	if err := insert(db, seeded, customers, func(c customer[int64]) int64 { return c.ID }); err != nil {
		return nil, err
	}
	addresses := make([]address[int64], share(2))
	for i := range addresses {
		addresses[i] = address[int64]{CustomerID: customers[i%len(customers)].ID, City: name(random)}
	}
	if err := insert(db, seeded, addresses, func(a address[int64]) int64 { return a.ID }); err != nil {
		return nil, err
	}
	products := make([]product[int64], share(1))
	for i := range products {
		products[i] = product[int64]{Title: name(random), Price: 1 + random.IntN(100)}
	}
	if err := insert(db, seeded, products, func(p product[int64]) int64 { return p.ID }); err != nil {
		return nil, err
	}
	orders := make([]order[int64], share(5))
	for i := range orders {
		a := addresses[random.IntN(len(addresses))]
		orders[i] = order[int64]{CustomerID: a.CustomerID, AddressID: a.ID}
	}
	if err := insert(db, seeded, orders, func(o order[int64]) int64 { return o.ID }); err != nil {
		return nil, err
	}
	lines := make([]line[int64], share(8))
	for i := range lines {
		lines[i] = line[int64]{OrderID: orders[i%len(orders)].ID, ProductID: products[random.IntN(len(products))].ID, Pieces: 1 + i%3}
	}
	if err := insert(db, seeded, lines, func(l line[int64]) int64 { return l.ID }); err != nil {
		return nil, err
	}
	payments := make([]payment[int64], share(2))
	for i := range payments {
		payments[i] = payment[int64]{OrderID: orders[i%len(orders)].ID, Amount: 1 + random.IntN(100)}
	}
	return seeded, insert(db, seeded, payments, func(p payment[int64]) int64 { return p.ID })
}

// insert creates rows of one model, a thousand at a time.
func insert[M interface{ TableName() string }](db *gorm.DB, seeded rows, models []M, id func(M) int64) error {
	if err := db.CreateInBatches(models, 1000).Error; err != nil {
		return err
	}
	for _, m := range models {
		seeded.add(m.TableName(), id(m))
	}
	return nil
}

func name(random *rand.Rand) string {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	b := make([]byte, 4+random.IntN(8))
	for i := range b {
		b[i] = letters[random.IntN(len(letters))]
	}
	return string(b)
}
