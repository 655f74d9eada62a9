//go:build nightly

package zkstore

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/zkstore"
)

func TestNightlyStandalone(t *testing.T) {
	suite(t, []string{dbtest.ZooKeeperMember(1, "").Start(t).Address})
}

// Open refuses a host whose clock is wrong, and leases nothing. If the clock of a running
// process jumps, it continues, and the next lease of its worker number starts above its ids.
func TestNightlyWrongHostClock(t *testing.T) {
	conn := connect(t, dbtest.ZooKeeper().Start(t).Address)
	layout, err := idgen.NewLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, idgen.Time(41), idgen.Worker(4), idgen.Sequence(4))
	if err != nil {
		t.Fatal(err)
	}
	var offset atomic.Int64
	cfg := snowkey.Config{
		Layout: layout, MinWorker: 1, MaxWorker: 1, Window: time.Second, MaxClockSkew: 200 * time.Millisecond, MaxWait: idgen.NoLimit, MaxBehind: idgen.NoLimit,
		Clock:  func() time.Time { return time.Now().Add(time.Duration(offset.Load())) },
		Logger: slog.New(slog.DiscardHandler),
	}
	store := zkstore.New(conn)
	open := func() (*idgen.Pool, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		return snowkey.Open(ctx, store, cfg)
	}
	seen := make(map[int64]bool)
	duplicates := 0
	draw := func(pool *idgen.Pool) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		for range 20_000 { // more than a bound can still hold
			id, err := pool.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if seen[id] {
				duplicates++
			}
			seen[id] = true
		}
	}
	for _, ahead := range []time.Duration{3 * time.Hour, -3 * time.Hour} {
		offset.Store(int64(ahead))
		pool, err := open()
		if skew, ok := errors.AsType[*lease.ClockSkewError](err); !ok || skew.Host.Sub(skew.Store).Round(time.Minute) != ahead {
			t.Errorf("with a clock %v ahead: %v, %v", ahead, pool, err)
		}
		offset.Store(0)
		if pool, err = open(); err != nil { // at once, because nothing is leased
			t.Fatal(err)
		}
		draw(pool)
		offset.Store(int64(ahead))
		draw(pool)
		offset.Store(0)
		draw(pool)
		if err := pool.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if duplicates > 0 {
		t.Errorf("%d duplicates of %d ids", duplicates, len(seen))
	}
}

// A lease survives an election. The first claim after it needs a fence.
func TestNightlyElection(t *testing.T) {
	z := dbtest.ZooKeeper().Start(t)
	h := newHolder(t, connect(t, z.Address), "/election")
	before := h.probe()
	h.must(h.AddRows(t.Context(), terms, 8, 8))
	h.must(z.Kill())
	h.must(z.Start())
	h.await()
	if !h.renew() {
		t.Error("the lease did not survive the election")
	}
	p := h.probe()
	if p.Current == before.Current || p.Fingerprint != before.Fingerprint || !p.HasFree {
		t.Errorf("before the election %+v, after it %+v", before, p)
	}
	c := lease.Claim{Terms: terms, Seen: p.Row, Fence: p.Fence, Token: rand.Text(), Wanted: 1 << 62}
	if _, ok, err := h.Claim(t.Context(), c); ok || err != nil {
		t.Errorf("a claim before the fence: %v, %v", ok, err)
	}
	h.must(h.Fence(t.Context(), terms, p.Fingerprint))
	if p := h.probe(); p.Current != p.Fingerprint || p.Fence < terms.At(h.held.Now).RaisedFence {
		t.Errorf("after the fence %+v", p)
	}
}

// await waits until the session works again.
func (h *holder) await() {
	h.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		_, _, err := h.conn.Exists("/")
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			h.Fatal(err)
		}
	}
}

// A waiting process reads a leased row again only when its lease has expired, or when a
// row was released. It must notice both, and that a lease was renewed instead.
func TestNightlyWaitingProbe(t *testing.T) {
	h := newHolder(t, connect(t, dbtest.ZooKeeper().Start(t).Address), "/waiting")
	short := terms
	short.TTL, short.Skew = (2 * time.Second).Microseconds(), 0
	waiting := func() lease.Probe {
		t.Helper()
		p, err := h.Probe(t.Context(), lease.Query{Terms: short, Max: 1023, PreferWorker: -1, Waiting: true})
		h.must(err)
		return p
	}
	renew := func() {
		t.Helper()
		row, ok, err := h.Renew(t.Context(), lease.Renewal{Terms: short, Held: h.held, Token: rand.Text(), Wanted: 1 << 62})
		h.must(err)
		if !ok {
			t.Fatal("refused")
		}
		h.held = row
	}
	renew()
	if p := waiting(); p.HasFree || !p.HasRow || p.Row.Token != h.held.Token {
		t.Errorf("leased: %+v", p)
	}
	time.Sleep(time.Second)
	renew()
	time.Sleep(time.Second + 100*time.Millisecond)
	if p := waiting(); p.Row.Token != h.held.Token || p.HasFree != (p.Now > h.held.Expires) {
		t.Errorf("renewed: %+v, and the row is %+v", p, h.held)
	}
	time.Sleep(2 * time.Second)
	if p := waiting(); !p.HasFree || p.Row.Token != h.held.Token {
		t.Errorf("expired: %+v", p)
	}
	time.Sleep(2 * time.Second) // the skew of terms
	h.claim()
	if p := waiting(); p.HasFree {
		t.Errorf("claimed again: %+v", p)
	}
	if ok, err := h.Release(t.Context(), terms, h.held, h.held.Bound); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if p := waiting(); !p.HasFree || p.Row.Token != "" {
		t.Errorf("released: %+v", p)
	}
}
