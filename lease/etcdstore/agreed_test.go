package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/lease"
)

// An observer returns the agreed time. It is agreed.observe, or a variant with a fault.
type observer func(a *agreed, ctx context.Context, s *Store, k keys, skew int64, resp *clientv3.TxnResponse) (int64, error)

const (
	testSkew  = time.Second
	testRenew = 3300 * time.Millisecond
)

var testTerms = lease.Terms{TTL: (10 * time.Second).Microseconds(), Skew: testSkew.Microseconds()}

// A host runs a process. Its clock is ahead of the time by offset.
type host struct {
	store  *Store
	agreed *agreed
	offset time.Duration
	last   int64 // the agreed time that it used last
}

func newHost(client *clientv3.Client, offset time.Duration) *host {
	h := &host{agreed: new(agreed), offset: offset}
	h.store = New(client, WithClock(func() time.Time { return time.Now().Add(h.offset) }))
	return h
}

// grant does what a claim or a renewal does with the agreed time. It returns an error if
// that time is before one that was used.
func (h *host) grant(ctx context.Context, m *memory, observe observer) (now int64, err error) {
	k := h.store.keys("x")
	resp, err := h.store.commit(ctx, nil, k.times())
	if err != nil {
		return 0, err
	}
	if now, err = observe(h.agreed, ctx, h.store, k, testTerms.Skew, resp); err != nil {
		return 0, err
	}
	puts, err := h.agreed.vouch(ctx, h.store, k, clusterOf(resp.Header), testTerms)
	if err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	used, err := decodeNumber(m.keys[k.time()])
	switch {
	case err != nil:
		return 0, err
	case now < h.last:
		return 0, fmt.Errorf("a process uses %d after %d", now, h.last)
	case used > now+testRenew.Microseconds(): // others may have raised it since it was read
		return 0, fmt.Errorf("a process uses %d, but %d was used before", now, used)
	}
	h.last = now
	m.execute(append(puts, raiseTime(k, now)))
	return now, nil
}

// run renews until ctx ends, and then returns the first error of a check of the times.
func (h *host) run(ctx context.Context, m *memory, observe observer, check func(now int64, took time.Duration) error) error {
	for {
		began := time.Now()
		now, err := h.grant(ctx, m, observe)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			err = check(now, time.Since(began))
		}
		if err != nil {
			return err
		}
		select {
		case <-time.After(testRenew):
		case <-ctx.Done():
			return nil
		}
	}
}

// off returns how far a time is from the time of the bubble.
func off(micro int64) time.Duration { return time.Until(time.UnixMicro(micro)) }

// simulate runs a process whose clock is right for ten minutes. Beside it, others start and
// stop on hosts whose clocks are right, or wrong, or jump, and other members become the
// leader. It returns an error if one of them uses a time that is wrong, or if one with a
// right clock has to wait for long.
func simulate(client *clientv3.Client, seed uint64, observe observer) error {
	random := rand.New(rand.NewPCG(seed, 1))
	m := install(client)
	m.deaf = true // because the client is of another bubble, it can't connect again after a timeout
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	right := func() time.Duration { return time.Duration(random.Int64N(801)-400) * time.Millisecond }
	// near accepts the times of clocks that are right. A process whose clock is wrong may
	// know the time that was used at the last renewal.
	near := func(now int64, took time.Duration) error {
		if d := off(now); d > 400*time.Millisecond || d < -testRenew-500*time.Millisecond {
			return fmt.Errorf("the agreed time is off by %v", d)
		}
		return nil
	}
	results := make(chan error, 1000)
	running := 1
	first := newHost(client, right())
	go func() { results <- first.run(ctx, m, observe, near) }()
	time.Sleep(time.Millisecond)
	for ctx.Err() == nil {
		h, isRight := newHost(client, right()), random.IntN(2) == 0
		if !isRight {
			h.offset = time.Duration(2+random.Int64N(10_000)) * time.Second
			if random.IntN(2) == 0 {
				h.offset = -h.offset
			}
		}
		life, end := context.WithTimeout(ctx, time.Duration(random.Int64N(60_000))*time.Millisecond)
		defer end()
		jumps := random.IntN(4) == 0
		running++
		go func() {
			results <- h.run(life, m, observe, func(now int64, took time.Duration) error {
				if isRight && took > 2*testRenew {
					return fmt.Errorf("a process whose clock is right waited for %v", took)
				}
				if jumps {
					h.offset += time.Hour
					isRight = false
				}
				return near(now, took)
			})
		}()
		if random.IntN(4) == 0 {
			m.newLeader()
		}
		time.Sleep(time.Duration(random.Int64N(10_000)) * time.Millisecond)
	}
	var err error
	for range running {
		err = errors.Join(err, <-results)
	}
	return err
}

// Wrong clocks do not change the agreed time while a process with a right clock runs. The
// simulation finds a wrong time if observe is replaced by one with a fault.
func TestAgreedTime(t *testing.T) {
	client := unconnected(t)
	faults := map[string]observer{
		"none": (*agreed).observe,
		"each host uses its own clock": func(a *agreed, _ context.Context, s *Store, _ keys, _ int64, resp *clientv3.TxnResponse) (int64, error) {
			least, err := decodeNumber(only(resp, 0))
			a.set(max(s.clock().UnixMicro(), least))
			return a.now(), err
		},
		"a process that knows the time reads its clock again": func(a *agreed, ctx context.Context, s *Store, k keys, skew int64, resp *clientv3.TxnResponse) (int64, error) {
			if a.known {
				a.set(max(a.now(), s.clock().UnixMicro()))
			}
			return a.observe(ctx, s, k, skew, resp)
		},
		"a new leader's count is trusted": func(a *agreed, ctx context.Context, s *Store, k keys, skew int64, resp *clientv3.TxnResponse) (int64, error) {
			alive := only(resp, 1)
			if alive == nil || a.known {
				return a.observe(ctx, s, k, skew, resp)
			}
			var v vouch
			if err := decode(alive, &v); err != nil {
				return 0, err
			}
			from, _, err := a.counted(ctx, s, v, clientv3.LeaseID(alive.Lease))
			a.set(from)
			return a.now(), err
		},
	}
	for fault, observe := range faults {
		t.Run(fault, func(t *testing.T) {
			found := 0
			for seed := range uint64(20) {
				synctest.Test(t, func(t *testing.T) {
					if err := simulate(client, seed, observe); err != nil {
						found++
						if fault == "none" {
							t.Errorf("seed %d: %v", seed, err)
						}
					}
				})
			}
			if fault != "none" && found == 0 {
				t.Error("the simulation does not find what is wrong")
			}
		})
	}
}

// If no process vouches for the time, the next one uses its own clock, but no time before
// one that was used. That makes ids unique if the former clock was ahead.
func TestAgreedTimeOfTheFirstProcess(t *testing.T) {
	client := unconnected(t)
	synctest.Test(t, func(t *testing.T) {
		m := install(client)
		for _, step := range []struct{ clock, want time.Duration }{
			{time.Hour, time.Hour},         // the first, whose clock is ahead
			{0, time.Hour - 2*time.Minute}, // after it has ended: not before its time
			{2 * time.Hour, 2 * time.Hour}, // and a later clock counts
			{-time.Hour, 2*time.Hour - time.Minute*2},
		} {
			now := errtest.Must(newHost(client, step.clock).grant(t.Context(), m, (*agreed).observe))(t)
			if got := off(now).Round(time.Second); got != step.want {
				t.Errorf("the clock is off by %v, and the agreed time by %v, want %v", step.clock, got, step.want)
			}
			time.Sleep(2 * time.Minute)
		}
	})
}

// A machine sleeps for an hour, while its monotonic clock stands still, and the cluster is
// restored to a snapshot from before. The process must not go on with the time that it had
// before, since others may have granted ids in that hour.
func TestAsleep(t *testing.T) {
	client := unconnected(t)
	for _, restored := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			m := install(client)
			h := newHost(client, 0)
			errtest.Must(h.grant(t.Context(), m, (*agreed).observe))(t)
			h.offset = time.Hour // how the sleep looks to the process: only the wall clock has gone on
			if restored {
				m.newLeader()
			} else { // another process went on
				m.execute([]clientv3.Op{raiseTime(h.store.keys("x"), time.Now().Add(time.Hour).UnixMicro())})
			}
			now := errtest.Must(h.grant(t.Context(), m, (*agreed).observe))(t)
			if behind := h.store.clock().Sub(time.UnixMicro(now)); behind.Abs() > testSkew {
				t.Errorf("restored %v: the agreed time is %v behind", restored, behind)
			}
		})
	}
}
