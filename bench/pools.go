package main

import (
	"context"
	"errors"
	"time"

	"github.com/snowkey-go/snowkey/bench/internal/draw"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
)

// pools contains the generators that the benchmarks use.
type pools struct {
	// full has DefaultLayout, which means 4,096 ids per millisecond.
	full *idgen.Pool
	// room has 4,194,304 ids per millisecond. No machine can generate that many, so
	// calls never have to wait.
	room *idgen.Pool
	// narrow has 256 ids per millisecond.
	narrow *idgen.Pool
}

func openPools() (*pools, error) {
	p := new(pools)
	for _, kind := range []struct {
		pool   **idgen.Pool
		fields []idgen.Field
	}{
		{&p.full, idgen.DefaultLayout().Fields()},
		{&p.room, []idgen.Field{idgen.Time(41), idgen.Sequence(22)}},
		{&p.narrow, []idgen.Field{idgen.Time(41), idgen.Worker(10), idgen.Sequence(8)}},
	} {
		layout, err := idgen.NewLayout(idgen.DefaultLayout().Epoch(), time.Millisecond, kind.fields...)
		if err == nil {
			*kind.pool, err = idgen.NewPool(idgen.Config{Layout: layout, Worker: worker.Static(0)})
		}
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
	}
	return p, nil
}

func (p *pools) close() error {
	ctx := context.Background()
	return errors.Join(p.room.Close(ctx), p.full.Close(ctx), p.narrow.Close(ctx))
}

// one generates one id per call. It is safe for concurrent use.
func one(g *idgen.Generator) workload { return draw.Next(g) }
