package main

import (
	"fmt"
	"runtime"
	"time"

	druoyi "github.com/godruoyi/go-snowflake"
	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
	"github.com/rs/xid"
	"github.com/sony/sonyflake"
	yitter "github.com/yitter/idgenerator-go/idgen"

	"github.com/snowkey-go/snowkey/bench/internal/draw"
)

// peers measures the cost of one id for each peer. The yardstick is one of our ids, in
// a layout that doesn't limit the rate. For comparison, the table also shows our id in
// the default layout.
func peers(p *pools) (topic, error) {
	bwmarrin, err := bwmarrinOne()
	if err != nil {
		return topic{}, err
	}
	sony, err := sonyflakeOne()
	if err != nil {
		return topic{}, err
	}
	t := topic{
		name:  "Peers",
		title: "One id from the peers, alone and on all cores, beside one of ours with room in the layout",
		note: "DefaultLayout and bwmarrin/snowflake are limited to 4,096 ids per ms (244 ns), go-snowflake to 4,095, sonyflake to 256 per 10 ms\n" +
			"  (39.1 µs). Since these limits determine the cost, look at the CPU time to see the actual work. idgenerator-go has the bits of\n" +
			"  DefaultLayout here, but may be 2,000 ms ahead of the clock before it waits, so its cost leaves out that it waits. xid has 12\n" +
			"  bytes, and ULID and UUID have 16, so they don't fit into a BIGINT.",
	}
	free := pace{turn: 5 * time.Millisecond}
	// Some sources run ahead after a rest, which is why we need a warm-up and long
	// turns.
	limited := pace{turn: 100 * time.Millisecond}
	type peer struct {
		name string
		one  workload
		pace pace
		warm int
		side side
	}
	list := []peer{
		{"snowkey, DefaultLayout", one(p.full.Named("peers")), limited, 25 * 4096, neither},
		{"bwmarrin/snowflake", bwmarrin, limited, 4096, itsWork},
		{"godruoyi/go-snowflake", druoyiOne, limited, 4095, itsWork},
		{"sony/sonyflake", sony, limited, 256, itsWork},
		{"yitter/idgenerator-go", yitterOne(), free, 0, itsWork},
		{"rs/xid", xidOne, free, 0, itsWork},
		{"oklog/ulid", ulidOne, free, 0, itsWork},
		{"google/uuid v7", uuidOne, free, 0, itsWork},
	}
	if stdUUID != nil {
		list = append(list, peer{stdUUIDName, stdUUID, free, 0, itsWork})
	}
	for _, peer := range list {
		for _, goroutines := range []int{1, runtime.GOMAXPROCS(0)} {
			peer.pace.warm = peer.warm
			t.trials = append(t.trials, trial{
				name:      peer.name + ", " + crowd(goroutines),
				work:      peer.one.among(goroutines),
				against:   "snowkey",
				yardstick: one(p.room.Named("peers")).among(goroutines),
				pace:      peer.pace,
				peer:      peer.side,
			})
		}
	}
	return t, nil
}

func bwmarrinOne() (workload, error) { return draw.Bwmarrin() }

func sonyflakeOne() (workload, error) {
	flake, err := sonyflake.New(sonyflake.Settings{MachineID: func() (uint16, error) { return 1, nil }})
	if err != nil {
		return nil, fmt.Errorf("sony/sonyflake: %w", err)
	}
	return func(n int) error {
		for range n {
			if _, err := flake.NextID(); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func druoyiOne(n int) error {
	for range n {
		if _, err := druoyi.NextID(); err != nil {
			return err
		}
	}
	return nil
}

// yitterOne divides the 22 bits below the time as DefaultLayout does. By default, a
// sequence has 6 bits, and a benchmark would only measure how long calls wait.
func yitterOne() workload {
	options := yitter.NewIdGeneratorOptions(1)
	options.WorkerIdBitLength, options.SeqBitLength = 10, 12
	generator := yitter.NewDefaultIdGenerator(options)
	return func(n int) error {
		for range n {
			generator.NewLong()
		}
		return nil
	}
}

func xidOne(n int) error {
	for range n {
		xid.New()
	}
	return nil
}

// ulidOne uses the default entropy of the package, which is monotonic.
func ulidOne(n int) error {
	for range n {
		ulid.Make()
	}
	return nil
}

func uuidOne(n int) error {
	for range n {
		if _, err := uuid.NewV7(); err != nil {
			return err
		}
	}
	return nil
}

const stdUUIDName = "uuid.NewV7 of Go 1.27"

// stdUUID draws version 7 from the standard library. It is nil before Go 1.27, which
// has no package uuid.
var stdUUID workload
