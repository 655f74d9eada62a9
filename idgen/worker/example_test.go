package worker_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
)

// next makes a pool with a worker number from source, and prints the number it finds in
// an id.
func next(source func(bits int) (int64, error)) {
	ctx := context.Background()
	pool, err := idgen.NewPool(idgen.Config{Worker: source})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close(ctx)
	id, err := pool.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("worker number", pool.Layout().Decode(id).Worker)
}

// A program that runs as a single process can use a constant.
func ExampleStatic() {
	next(worker.Static(1))
	// Output: worker number 1
}

// The deployment must set the variable to a different number for each process. If it is
// missing, NewPool returns an error.
func ExampleEnv() {
	os.Setenv("SNOWKEY_WORKER", "42")
	defer os.Unsetenv("SNOWKEY_WORKER")
	next(worker.Env("SNOWKEY_WORKER"))
	next(worker.Env("ANOTHER_VARIABLE"))
	// Output:
	// worker number 42
	// worker: ANOTHER_VARIABLE is not set, or empty; set it to a number that no other process has
}

// Kubernetes sets HOSTNAME in the pods of a StatefulSet.
func ExampleOrdinal() {
	before := os.Getenv("HOSTNAME")
	defer os.Setenv("HOSTNAME", before)

	os.Setenv("HOSTNAME", "orders-7")
	next(worker.Ordinal())
	os.Setenv("HOSTNAME", "orders-6d4cf56db6-abcde") // unlike a StatefulSet, a Deployment has no ordinals
	next(worker.Ordinal())
	// Output:
	// worker number 7
	// worker: HOSTNAME "orders-6d4cf56db6-abcde" is not a plain decimal number; use digits only
}

// Hosts of one /24 network differ in the last octet of their address.
func ExampleIPv4() {
	n, err := worker.IPv4(8)(10)
	if err != nil {
		n = 0 // this host has no private address, or several
	}
	fmt.Println(n < 256)
	// Output: true
}

// Random is fine for a tool that runs once, if you can accept the risk of equal
// numbers.
func ExampleRandom() {
	n, err := worker.Random()(10)
	fmt.Println(0 <= n && n < 1024, err)
	// Output: true <nil>
}
