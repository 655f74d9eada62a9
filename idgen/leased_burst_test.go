package idgen

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/internal/leased"
)

// A leased pool may run far ahead of its clock, but never up to its bound.
func TestBurstsEndBelowTheBound(t *testing.T) {
	const ticks = 50
	for _, tt := range []struct {
		name     string
		maxAhead time.Duration
	}{{"MaxAhead is less", 20 * time.Millisecond}, {"no limit but the bound", NoLimit}} {
		// In a bubble, the time limit of checkBurst only passes while a call waits.
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				at := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
				l := DefaultLayout()
				start := at.Sub(l.Epoch()).Milliseconds() << 12
				bound := start + ticks<<12 + 1001
				cfg := Config{Clock: func() time.Time { return at }, MaxAhead: tt.maxAhead, MaxWait: -1}
				p, err := newLeased(cfg, func(i leased.Issuer) (leased.Keeper, error) {
					i.Grant(1, start, bound)
					return granted{}, nil
				})
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close(t.Context())
				if err := checkBurst(p, bound); err != nil {
					t.Error(err)
				}
				if lead := p.Health().Behind; lead < min(tt.maxAhead, ticks*time.Millisecond) {
					t.Errorf("ids are only %v ahead", lead)
				}
			})
		})
	}
}

// checkBurst takes ids until calls fail or wait. It returns an error if one of them is
// at or above the bound.
func checkBurst(p *Pool, bound int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for {
		id, err := p.Next(ctx)
		if _, late := errors.AsType[*ClockError](err); late || errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
		if counter := id>>22<<12 | id&4095; counter >= bound {
			return fmt.Errorf("counter %d was issued, and the bound is %d", counter, bound)
		}
	}
}

type granted struct{}

func (granted) Want(int64)                    {}
func (granted) RenewSoon()                    {}
func (granted) Suspend(context.Context) error { return nil }
func (granted) Resume(context.Context) error  { return nil }
func (granted) Close(context.Context) error   { return nil }
func (granted) Stats() leased.Stats           { return leased.Stats{} }
