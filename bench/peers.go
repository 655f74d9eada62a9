package main

import (
	"fmt"
	"runtime"
	"time"

	bwmarrin "github.com/bwmarrin/snowflake"
	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
	"github.com/rs/xid"
	"github.com/sony/sonyflake"
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
		note: "DefaultLayout and bwmarrin/snowflake are limited to 4,096 ids per ms (244 ns), sonyflake to 256 per 10 ms (39.1 µs). Since these\n" +
			"  limits determine the cost, look at the CPU time to see the actual work. xid has 12 bytes, and ULID and UUID have 16, so they\n" +
			"  don't fit into a BIGINT.",
	}
	free := pace{turn: 5 * time.Millisecond}
	// Some sources run ahead after a rest, which is why we need a warm-up and long
	// turns.
	limited := pace{turn: 100 * time.Millisecond}
	for _, peer := range []struct {
		name string
		one  workload
		pace pace
		warm int
		side side
	}{
		{"snowkey, DefaultLayout", one(p.full.Named("peers")), limited, 25 * 4096, neither},
		{"bwmarrin/snowflake", bwmarrin, limited, 4096, itsWork},
		{"sony/sonyflake", sony, limited, 256, itsWork},
		{"rs/xid", xidOne, free, 0, itsWork},
		{"oklog/ulid", ulidOne, free, 0, itsWork},
		{"google/uuid v7", uuidOne, free, 0, itsWork},
	} {
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

func bwmarrinOne() (workload, error) {
	node, err := bwmarrin.NewNode(1)
	if err != nil {
		return nil, fmt.Errorf("bwmarrin/snowflake: %w", err)
	}
	return func(n int) error {
		for range n {
			node.Generate()
		}
		return nil
	}, nil
}

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
