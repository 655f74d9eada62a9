// Cold measures ids after a pause of a millisecond. For each round it prints the time of
// an id of Snowkey and of bwmarrin/snowflake, in nanoseconds:
//
//	cold PLACEMENT RATE DURATION
//
// Where a function and its data are in memory changes such times by up to a third. So the
// benchmarks build this program several times, and the linker orders the functions
// differently each time. PLACEMENT is the seed for where the heap has the data.
package main

import (
	"fmt"
	"log"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/snowkey-go/snowkey/bench/internal/draw"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: cold PLACEMENT RATE DURATION")
	}
	placement, err := strconv.Atoi(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	rate, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	d, err := time.ParseDuration(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	if err := measure(placement, rate, d); err != nil {
		log.Fatal(err)
	}
}

func measure(placement, rate int, d time.Duration) error {
	defer runtime.KeepAlive(draw.Place(placement))
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(0)})
	if err != nil {
		return err
	}
	for i := range placement % 5 {
		pool.Named(fmt.Sprint(i))
	}
	bwmarrin, err := draw.Bwmarrin()
	if err != nil {
		return err
	}
	sources := []func(n int) error{draw.Next(pool.Named("cold")), bwmarrin}
	start := time.Now()
	for round := 0; round < 3 || time.Since(start) < d; round++ {
		costs := make([]float64, len(sources))
		for i := range sources {
			k := (i + round) % len(sources)
			if costs[k], err = draw.Paced(sources[k], rate, min(d/10, 25*time.Millisecond)); err != nil {
				return err
			}
		}
		fmt.Println(costs[0], costs[1])
	}
	return nil
}
