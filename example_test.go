package snowkey_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	_ "github.com/glebarez/go-sqlite"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// A program leases its worker number from its own database and gives it back at
// the end.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "snowkey")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "app.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	ids, err := snowkey.Open(ctx, sqlstore.SQLite(db), snowkey.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer ids.Close(ctx)
	idgen.SetDefault(ids)

	a, _ := ids.Next(ctx)
	b, _ := ids.Next(ctx)
	fmt.Println(a < b, ids.Health().State)
	// Output: true serving
}
