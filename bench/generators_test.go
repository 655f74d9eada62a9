package main

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bwmarrin/snowflake"
	druoyi "github.com/godruoyi/go-snowflake"
	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
	"github.com/rs/xid"
	"github.com/sony/sonyflake"
	yitter "github.com/yitter/idgenerator-go/idgen"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A source makes one id with each call, and is safe for concurrent use.
type source struct {
	name string
	next func()
}

// stdUUID is version 7 of the standard library. It is nil before Go 1.27.
var stdUUID func()

// sources returns the generators with defaults as their documentation shows them. The
// first is the least that a time-ordered unique id can cost.
func sources(b *testing.B) []source {
	sony := dbtest.Must(sonyflake.New(sonyflake.Settings{MachineID: func() (uint16, error) { return 1, nil }}))(b)
	// By default, yitter's sequence has 6 bits, and a benchmark would measure only how long
	// calls wait. These are the bits of DefaultLayout.
	options := yitter.NewIdGeneratorOptions(1)
	options.WorkerIdBitLength, options.SeqBitLength = 10, 12
	idgenerator := yitter.NewDefaultIdGenerator(options)
	list := []source{
		{"clock", clockAndAdd()},
		{"snowkey", next(room.Named(b.Name()))},
		{"snowkey-default", next(full.Named(b.Name()))},
		bwmarrin(b),
		{"go-snowflake", func() { _, _ = druoyi.NextID() }},
		{"sonyflake", func() { _, _ = sony.NextID() }},
		{"idgenerator-go", func() { idgenerator.NewLong() }},
		{"xid", func() { xid.New() }},
		{"ulid", func() { ulid.Make() }},
		{"google-uuid7", func() { _, _ = uuid.NewV7() }},
	}
	if stdUUID != nil {
		list = append(list, source{"go-uuid7", stdUUID})
	}
	return list
}

// clockAndAdd reads the clock, and adds to a word on its own cache line as a generator has.
func clockAndAdd() func() {
	start := time.Now()
	word := new(struct {
		_ [64]byte
		atomic.Int64
		_ [64]byte
	})
	return func() {
		if time.Since(start) >= 0 {
			word.Add(1)
		}
	}
}

func bwmarrin(b *testing.B) source {
	node := dbtest.Must(snowflake.NewNode(1))(b)
	return source{"bwmarrin", func() { node.Generate() }}
}

// Pools by the ids a millisecond that their layouts have room for.
var (
	full   = pool(idgen.DefaultLayout().Fields()...)                   // 4,096
	room   = pool(idgen.Time(41), idgen.Sequence(22))                  // 4,194,304, more than a machine can make
	narrow = pool(idgen.Time(41), idgen.Worker(10), idgen.Sequence(8)) // 256
)

func pool(fields ...idgen.Field) *idgen.Pool {
	layout, err := idgen.NewLayout(idgen.DefaultLayout().Epoch(), time.Millisecond, fields...)
	if err != nil {
		panic(err)
	}
	p, err := idgen.NewPool(idgen.Config{Layout: layout, Worker: worker.Static(0)})
	if err != nil {
		panic(err)
	}
	return p
}

func next(g *idgen.Generator) func() {
	ctx := context.Background()
	return func() {
		if _, err := g.Next(ctx); err != nil {
			panic(err)
		}
	}
}
