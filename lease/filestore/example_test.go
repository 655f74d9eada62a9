package filestore_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/lease/filestore"
)

// Processes that share a directory get the numbers 0, 1, 2 in the order in which they
// start. In this example, two pools stand in for the processes.
func ExampleDir() {
	ctx := context.Background()
	temp, err := os.MkdirTemp("", "snowkey")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(temp)
	dir := filepath.Join(temp, "leases")

	for range 2 {
		ids, err := snowkey.Open(ctx, filestore.Dir(dir), snowkey.Config{})
		if err != nil {
			log.Fatal(err)
		}
		defer ids.Close(ctx) // releases the number
		id, err := ids.Next(ctx)
		if err != nil {
			log.Fatal(err)
		}
		worker, _ := ids.Worker()
		fmt.Println(worker, id > 0)
	}
	// Output:
	// 0 true
	// 1 true
}
