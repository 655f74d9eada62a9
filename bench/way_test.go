package main

import (
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestWaysInsertRows checks that each way inserts rows, and that all of them have the
// right kind of key.
func TestWaysInsertRows(t *testing.T) {
	idgen.SetDefault(full)
	for _, dialect := range dbtest.Databases(t) {
		if dialect != "sqlite" { // SQLite's rows are measured by another topic
			t.Run(dialect, func(t *testing.T) { insertRows(t, dbtest.Open(t, dialect)) })
		}
	}
}

func insertRows(t *testing.T, server dbtest.DB) {
	db := dbtest.Must(newDatabase(t, server, server.Connect(t)))(t)
	rows := 0
	for _, orm := range integrations(server.Dialect) {
		for _, k := range keyKinds() {
			w, err := orm.open(db, k)
			if err == nil {
				err = w.one.among(2)(3)
			}
			if err == nil {
				err = w.bulk(1)
			}
			if err != nil {
				t.Fatalf("%s, %s: %v", orm.name, k.name, err)
			}
		}
		rows += 3 + bulkRows
		for _, k := range keyKinds() {
			var count, moments int
			err := db.sql.QueryRow("SELECT count(*), count(DISTINCT created_at) FROM "+k.table+
				" WHERE name = 'Ada' AND email = 'ada@example.com'").Scan(&count, &moments)
			if err != nil || count != rows || moments != rows {
				t.Errorf("after %s, %s has %d rows of %d moments, %v; want %d", orm.name, k.table, count, moments, err, rows)
			}
		}
	}
	for _, k := range keyKinds() {
		switch size, err := db.sizes(k); {
		case err != nil:
			t.Error(err)
		case size.rows == 0 || size.second == 0 || (size.key == 0) != (server.Dialect == "mysql"):
			t.Errorf("%s takes %+v", k.table, size)
		}
		if k.make != nil {
			version := map[string]string{
				"postgres": "SELECT DISTINCT substr(id::text, 15, 1) FROM ", "mysql": "SELECT DISTINCT substr(hex(id), 13, 1) FROM ",
			}[server.Dialect]
			var digit string
			if err := db.sql.QueryRow(version + k.table).Scan(&digit); err != nil || "UUIDv"+digit != k.name {
				t.Errorf("%s has keys of version %q, %v", k.table, digit, err)
			}
			continue
		}
		// Auto-increment keys count from 1, whereas our keys start with the time.
		var least int64
		if err := db.sql.QueryRow("SELECT min(id) FROM " + k.table).Scan(&least); err != nil || k.ours != (least > 1<<40) {
			t.Errorf("the least key of %s is %d, %v", k.table, least, err)
		}
	}
}
