package snowkey_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/lease/filestore"
)

// newStore returns a store in a new directory. If you have a database, use
// sqlstore.Postgres(db), sqlstore.MySQL(db) or sqlstore.SQLite(db) instead.
func newStore() (store *filestore.Store, remove func()) {
	dir, err := os.MkdirTemp("", "snowkey")
	if err != nil {
		log.Fatal(err)
	}
	return filestore.Dir(dir), func() { os.RemoveAll(dir) }
}

// Services with a database each have ranges of worker numbers in a common file.
func ExampleConfig_ForService() {
	file := "orders 0 511\npayments 500 1023\n"
	_, err := snowkey.Config{}.ForService(file, "orders")
	fmt.Println(err)
	// Output: snowkey: the file of the fleet: line 2: "payments" has the worker numbers 500 to 1023, and "orders" in line 1 has 0 to 511; both have 500 to 511, so they could make the same id
}

// A layout can have a field for the service, so that each id shows which service made it.
func ExampleConfig_serviceField() {
	at := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)

	layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		idgen.Time(41), idgen.Fixed("service", 4, 0), idgen.Worker(6), idgen.Sequence(12))
	if err != nil {
		log.Fatal(err)
	}
	payments, err := layout.WithFixed("service", 3)
	if err != nil {
		log.Fatal(err)
	}

	id, err := layout.Compose(idgen.Parts{Time: at, Worker: 5, Sequence: 1, Fixed: []int64{3}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(id, payments.Decode(id).Fixed)

	// In the default layout, the same id has a worker number from 192 to 255.
	fmt.Println(idgen.DefaultLayout().Decode(id).Worker == 3*64+5)
	// Output:
	// 250530811085606913 [3]
	// true
}

// A program leases its worker number when it starts and releases it when it ends.
func ExampleOpen() {
	ctx := context.Background()
	store, remove := newStore()
	defer remove()

	ids, err := snowkey.Open(ctx, store, snowkey.Config{})
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

// Two services that fill the same tables must have the same namespace. Here, each data
// center also has a range of worker numbers, so that it can work without the other.
func ExampleConfig() {
	ctx := context.Background()
	store, remove := newStore()
	defer remove()

	ids, err := snowkey.Open(ctx, store, snowkey.Config{
		Namespace: "shop",
		MinWorker: 512,
		MaxWorker: 1023,
		Label:     "orders-7",
	})
	if err != nil {
		log.Fatal(err)
	}
	defer ids.Close(ctx)

	worker, ok := ids.Worker()
	fmt.Println(512 <= worker && worker <= 1023, ok)
	// Output: true true
}

// A process should release its worker number before it is copied, for instance by a
// snapshot of its machine. Each copy then leases a worker number of its own.
func Example_suspend() {
	ctx := context.Background()
	store, remove := newStore()
	defer remove()

	ids, err := snowkey.Open(ctx, store, snowkey.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer ids.Close(ctx)

	if err := ids.Suspend(ctx); err != nil {
		log.Fatal(err)
	}
	_, ok := ids.Worker()
	fmt.Println("suspended:", ok, ids.Health().State)
	// The snapshot is made here.
	if err := ids.Resume(ctx); err != nil {
		log.Fatal(err)
	}
	_, ok = ids.Worker()
	fmt.Println("resumed:", ok, ids.Health().State)
	// Output:
	// suspended: false unleased
	// resumed: true serving
}

// After a restore from an old backup, ids must not repeat the ids that were issued
// since that backup. docs/leases.md lists the restores after which you need to call
// Fence.
func ExampleFence() {
	ctx := context.Background()
	store, remove := newStore()
	defer remove()
	cfg := snowkey.Config{Namespace: "shop"}
	ids, err := snowkey.Open(ctx, store, cfg)
	if err != nil {
		log.Fatal(err)
	}
	before, _ := ids.Next(ctx)
	ids.Close(ctx)

	// At this point, all processes are stopped and the store has been restored.
	if err := snowkey.Fence(ctx, store, cfg); err != nil {
		log.Fatal(err)
	}

	ids, err = snowkey.Open(ctx, store, cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer ids.Close(ctx)
	after, err := ids.Next(ctx)
	fmt.Println(after > before, err)
	// Output: true <nil>
}

// You can run Doctor once a day, for instance, to report what looks wrong in the store.
func ExampleDoctor() {
	ctx := context.Background()
	store, remove := newStore()
	defer remove()
	cfg := snowkey.Config{MinWorker: 1, MaxWorker: 2}
	for range 2 {
		ids, err := snowkey.Open(ctx, store, cfg)
		if err != nil {
			log.Fatal(err)
		}
		defer ids.Close(ctx)
	}

	findings, err := snowkey.Doctor(ctx, store, cfg)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range findings {
		fmt.Println(f.Kind) // f.Text and f.Remedy are meant for people
	}
	// Output: crowded
}

// An import gets a worker number of its own, which no process leases. If it is repeated, the
// rows get the same ids.
func ExampleOpenBackfill() {
	ctx := context.Background()
	store, remove := newStore()
	defer remove()

	for range 2 {
		past, err := snowkey.OpenBackfill(ctx, store, snowkey.Config{}, "orders-of-2025")
		if err != nil {
			log.Fatal(err)
		}
		day := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
		ids, err := past.At("orders", []time.Time{day, day, day.Add(time.Hour)})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(ids)
	}
	// Output:
	// [21562078003200821 21562078003200822 21577177497600511]
	// [21562078003200821 21562078003200822 21577177497600511]
}
