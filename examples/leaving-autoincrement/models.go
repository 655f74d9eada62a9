package main

import "github.com/snowkey-go/snowkey/schema/pk"

// key is the type of the keys in the models, and the only thing that changes. In the
// old models it is int64, so the database generates the keys. In the new models it is
// pk.ID.
type key interface{ int64 | pk.ID }

type customer[K key] struct {
	ID         K
	Name       string
	ReferredBy *K // refers to another customer
}

type address[K key] struct {
	ID         K
	CustomerID K
	City       string
}

type product[K key] struct {
	ID    K
	Title string
	Price int
}

type order[K key] struct {
	ID         K
	CustomerID K
	AddressID  K
}

type line[K key] struct {
	ID        K
	OrderID   K
	ProductID K
	Pieces    int
}

type payment[K key] struct {
	ID      K
	OrderID K
	Amount  int
}

func (customer[K]) TableName() string { return "customers" }
func (address[K]) TableName() string  { return "addresses" }
func (product[K]) TableName() string  { return "products" }
func (order[K]) TableName() string    { return "orders" }
func (line[K]) TableName() string     { return "order_lines" }
func (payment[K]) TableName() string  { return "payments" }

// models returns all models.
func models[K key]() []any {
	return []any{&customer[K]{}, &address[K]{}, &product[K]{}, &order[K]{}, &line[K]{}, &payment[K]{}}
}
