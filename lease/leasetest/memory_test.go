package leasetest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

var terms = lease.Terms{
	Namespace: "ns", Layout: "a layout", Epoch: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(),
	Unit: 1000, PerTick: 4096, Workers: 1024, Ahead: 12e6, TTL: 15e6,
}

// held returns a store in which worker 3 is leased.
func held(t *testing.T) (*leasetest.Memory, lease.Row) {
	t.Helper()
	m := new(leasetest.Memory)
	_, err := m.CreateNamespace(t.Context(), terms, 0)
	errtest.NoError(t, errors.Join(m.AddRows(t.Context(), terms, 3, 3), err))
	p := errtest.Must(m.Probe(t.Context(), lease.Query{Terms: terms, Max: 3}))(t)
	row, ok, err := m.Claim(t.Context(), lease.Claim{Terms: terms, Seen: p.Row, Fence: p.Fence, Token: "first"})
	if !ok || err != nil {
		t.Fatal("not claimed:", ok, err)
	}
	return m, row
}

func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		fault            leasetest.Fault
		hangs, has, gets bool // whether the call hangs, has had its effect when it returns, and has had it after Deliver
		err              error
	}{
		{fault: leasetest.None, has: true, gets: true},
		{fault: leasetest.Refuse, err: leasetest.ErrFault},
		{fault: leasetest.LoseReply, has: true, gets: true, err: leasetest.ErrFault},
		{fault: leasetest.Hang, hangs: true, err: context.DeadlineExceeded},
		{fault: leasetest.HangAfter, hangs: true, has: true, gets: true, err: context.DeadlineExceeded},
		{fault: leasetest.Late, hangs: true, gets: true, err: context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, row := held(t)
			m.Fault(func(op string) leasetest.Fault {
				if op == "Renew" {
					return tc.fault
				}
				return leasetest.None
			})
			renewed := func() bool {
				return errtest.Must(m.Rows(t.Context(), terms, 3, 3))(t)[0].Token == "second"
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			_, ok, err := m.Renew(ctx, lease.Renewal{Terms: terms, Held: row, Token: "second"})
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
	leasetest.Run(t, func(*testing.T) lease.Store { return new(leasetest.Memory) })
}

func TestMemoryOfWholeSeconds(t *testing.T) {
	seconds := func() time.Time { return time.Now().Truncate(time.Second) }
	leasetest.Run(t, func(*testing.T) lease.Store { return &leasetest.Memory{Clock: seconds} })
}
