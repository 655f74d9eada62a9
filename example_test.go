package snowkey_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/lease/filestore"
)

// A program leases its worker number, and gives it back at the end. With a database
// it has sqlstore.Postgres(db) in place of the directory.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "snowkey")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	ids, err := snowkey.Open(ctx, filestore.Dir(dir), snowkey.Config{})
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
