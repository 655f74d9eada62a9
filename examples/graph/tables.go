package main

import "fmt"

// tables names the three tables of one way. Between ways, they differ only in the type
// of the keys.
type tables struct {
	name   string
	key    string // the SQL type of a key
	serial string // makes the database generate the keys; empty if it doesn't
}

func (t tables) orders() string   { return "snowkey_graph_" + t.name + "_orders" }
func (t tables) lines() string    { return "snowkey_graph_" + t.name + "_lines" }
func (t tables) payments() string { return "snowkey_graph_" + t.name + "_payments" }

// create returns the statements that create the tables, with or without foreign keys.
// In either case, there is an index on the columns that refer to orders.
func (t tables) create(foreignKeys bool) []string {
	reference := ""
	if foreignKeys {
		reference = ", FOREIGN KEY (order_id) REFERENCES " + t.orders() + " (id)"
	}
	parent := func(table, columns string) string {
		return fmt.Sprintf("CREATE TABLE %s (id %s%s PRIMARY KEY, %s)", table, t.key, t.serial, columns)
	}
	child := func(table, columns string) string {
		return parent(table, fmt.Sprintf("order_id %s NOT NULL, %s%s", t.key, columns, reference))
	}
	return []string{
		parent(t.orders(), "customer VARCHAR(40) NOT NULL"),
		child(t.lines(), "product VARCHAR(40) NOT NULL, quantity INTEGER NOT NULL"),
		child(t.payments(), "cents BIGINT NOT NULL"),
		fmt.Sprintf("CREATE INDEX %s_order ON %[1]s (order_id)", t.lines()),
		fmt.Sprintf("CREATE INDEX %s_order ON %[1]s (order_id)", t.payments()),
	}
}

// drop returns the statements that drop the tables if they exist.
func (t tables) drop() (statements []string) {
	for _, table := range []string{t.payments(), t.lines(), t.orders()} {
		statements = append(statements, "DROP TABLE IF EXISTS "+table)
	}
	return statements
}
