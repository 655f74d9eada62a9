package kvtest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		fault            kvtest.Fault
		hangs, has, gets bool // whether the call hangs, has had its effect when it returns, and has had it after Deliver
		err              error
	}{
		{fault: kvtest.None, has: true, gets: true},
		{fault: kvtest.Refuse, err: kvtest.ErrFault},
		{fault: kvtest.LoseReply, has: true, gets: true, err: kvtest.ErrFault},
		{fault: kvtest.Hang, hangs: true, err: context.DeadlineExceeded},
		{fault: kvtest.HangAfter, hangs: true, has: true, gets: true, err: context.DeadlineExceeded},
		{fault: kvtest.Late, hangs: true, gets: true, err: context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))) // the bubble begins in 2000
			m := new(kvtest.Memory)
			p := &kvtest.Process{T: t, Store: m}
			p.Add()
			p.Lease()
			m.Fault(func(op string) kvtest.Fault {
				if op == "Renew" {
					return tc.fault
				}
				return kvtest.None
			})
			renewed := func() bool { return p.Row().Token == "second" }
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			_, ok, err := m.Renew(ctx, lease.Renewal{Terms: kvtest.Terms, Held: p.Held, Token: "second"})
			if !errors.Is(err, tc.err) || ok != (tc.err == nil) {
				t.Errorf("fault %d: got %v, %v", tc.fault, ok, err)
			}
			if hung := time.Since(began) == time.Second; hung != tc.hangs {
				t.Errorf("fault %d: hung %v", tc.fault, hung)
			}
			if renewed() != tc.has {
				t.Errorf("fault %d: had its effect: %v", tc.fault, !tc.has)
			}
			m.Deliver()
			if renewed() != tc.gets {
				t.Errorf("fault %d: had its effect on delivery: %v", tc.fault, !tc.gets)
			}
			if got := m.Calls("Renew"); got != 1 {
				t.Errorf("fault %d: %d renewals were counted", tc.fault, got)
			}
		})
	}
}

func TestMemory(t *testing.T) {
	leasetest.Run(t, func(*testing.T) lease.Store { return new(kvtest.Memory) })
}

func TestMemoryOfWholeSeconds(t *testing.T) {
	seconds := func() time.Time { return time.Now().Truncate(time.Second) }
	leasetest.Run(t, func(*testing.T) lease.Store { return &kvtest.Memory{Clock: seconds} })
}
