package main

import (
	"context"
	"fmt"
	"strings"
)

// A reference is one of the shop's foreign keys.
type reference struct{ table, column, parent string }

var (
	tables = []string{"customers", "addresses", "products", "orders", "order_lines", "payments"}

	references = []reference{
		{"customers", "referred_by", "customers"},
		{"addresses", "customer_id", "customers"},
		{"orders", "customer_id", "customers"},
		{"orders", "address_id", "addresses"},
		{"order_lines", "order_id", "orders"},
		{"order_lines", "product_id", "products"},
		{"payments", "order_id", "orders"},
	}

	// columns lists the columns other than the key and the references.
	columns = map[string]string{
		"customers":   "name {text} NOT NULL",
		"addresses":   "city {text} NOT NULL",
		"products":    "title {text} NOT NULL, price {int} NOT NULL",
		"order_lines": "pieces {int} NOT NULL",
		"payments":    "amount {int} NOT NULL",
	}
)

// The shop's auto-increment keys have 32 bits. To cover that case too, one of them is
// GENERATED ALWAYS on Postgres.
var types = map[string]*strings.Replacer{
	"postgres": strings.NewReplacer("{key}", "serial", "{always}", "integer GENERATED ALWAYS AS IDENTITY", "{int}", "integer", "{text}", "text"),
	"mysql":    strings.NewReplacer("{key}", "INT NOT NULL AUTO_INCREMENT", "{always}", "INT NOT NULL AUTO_INCREMENT", "{int}", "INT", "{text}", "VARCHAR(100)"),
	"sqlite":   strings.NewReplacer("{key}", "INTEGER", "{always}", "INTEGER", "{int}", "INTEGER", "{text}", "TEXT"),
}

// create creates the tables, which must not exist yet.
func create(ctx context.Context, db database) error {
	for _, table := range tables {
		id := "id {key} PRIMARY KEY"
		if table == "payments" {
			id = "id {always} PRIMARY KEY"
		}
		if db.kind == "sqlite" {
			id += " AUTOINCREMENT"
		}
		parts := []string{id}
		var constraints, indexes []string
		for _, r := range references {
			if r.table != table {
				continue
			}
			null := " NOT NULL"
			if r.parent == table {
				null = ""
			}
			parts = append(parts, r.column+" {int}"+null)
			constraints = append(constraints, fmt.Sprintf("CONSTRAINT %s_%s FOREIGN KEY (%s) REFERENCES %s (id)", table, r.column, r.column, r.parent))
			indexes = append(indexes, fmt.Sprintf("CREATE INDEX %s_by_%s ON %s (%s)", table, r.column, table, r.column))
		}
		if own := columns[table]; own != "" {
			parts = append(parts, own)
		}
		parts = append(parts, constraints...)
		statement := "CREATE TABLE " + table + " (" + strings.Join(parts, ", ") + ")"
		for _, statement := range append([]string{statement}, indexes...) {
			if _, err := db.ExecContext(ctx, types[db.kind].Replace(statement)); err != nil {
				return fmt.Errorf("%w (the program needs an empty database)", err)
			}
		}
	}
	return nil
}
