package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// Two processes lease different worker numbers from one database, so their ids differ even
// if both make them in the same millisecond. With Postgres or MySQL, only the driver and the
// function of sqlstore change.
func Example_lease() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "shop")
	check(err)
	defer os.RemoveAll(dir)
	worker := func() int64 {
		db, err := sql.Open("sqlite", filepath.Join(dir, "shop.db"))
		check(err)
		ids, err := snowkey.Open(ctx, sqlstore.SQLite(db), snowkey.Config{})
		check(err)
		id, err := ids.Next(ctx)
		check(err)
		return ids.Layout().Decode(id).Worker
	}
	first, second := worker(), worker()
	fmt.Println("different workers:", first != second)
	// Output: different workers: true
}
