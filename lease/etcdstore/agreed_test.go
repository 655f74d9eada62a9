package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	mvccpb "go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/lease"
)

// A fakeEtcd has the keys time and alive, and etcd leases.
type fakeEtcd struct {
	clientv3.KV
	clientv3.Lease
	mu     sync.Mutex
	time   int64
	alive  vouch
	lease  clientv3.LeaseID // that of alive, or 0
	leases []etcdLease
}

type etcdLease struct {
	since time.Time // when the leader began to count
	ttl   time.Duration
}

func (f *fakeEtcd) left(id clientv3.LeaseID) time.Duration {
	l := f.leases[id-1]
	return l.ttl - time.Since(l.since)
}

// newLeader counts each lease from its full length again.
func (f *fakeEtcd) newLeader() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.leases {
		if f.left(clientv3.LeaseID(i+1)) > 0 {
			f.leases[i].since = time.Now()
		}
	}
}

func (f *fakeEtcd) Close() error { return nil }

func (f *fakeEtcd) Grant(_ context.Context, ttl int64) (*clientv3.LeaseGrantResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leases = append(f.leases, etcdLease{time.Now(), time.Duration(ttl) * time.Second})
	return &clientv3.LeaseGrantResponse{ID: clientv3.LeaseID(len(f.leases)), TTL: ttl}, nil
}

func (f *fakeEtcd) TimeToLive(_ context.Context, id clientv3.LeaseID, _ ...clientv3.LeaseOption) (*clientv3.LeaseTimeToLiveResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &clientv3.LeaseTimeToLiveResponse{ID: id, TTL: int64(f.left(id) / time.Second), GrantedTTL: int64(f.leases[id-1].ttl / time.Second)}, nil
}

func (f *fakeEtcd) Txn(context.Context) clientv3.Txn { return &fakeRead{etcd: f} }

// A fakeRead returns the keys time and alive.
type fakeRead struct {
	clientv3.Txn
	etcd *fakeEtcd
}

func (r *fakeRead) If(...clientv3.Cmp) clientv3.Txn        { return r }
func (r *fakeRead) Then(...clientv3.Op) clientv3.Txn       { return r }
func (r *fakeRead) Commit() (*clientv3.TxnResponse, error) { return r.etcd.read(), nil }

func answer(kvs ...*mvccpb.KeyValue) *pb.ResponseOp {
	return &pb.ResponseOp{Response: &pb.ResponseOp_ResponseRange{ResponseRange: &pb.RangeResponse{Kvs: kvs}}}
}

func (f *fakeEtcd) read() *clientv3.TxnResponse {
	f.mu.Lock()
	defer f.mu.Unlock()
	var stored, alive []*mvccpb.KeyValue
	if f.time > 0 {
		stored = append(stored, &mvccpb.KeyValue{Value: []byte(encodeNumber(f.time))})
	}
	if f.lease > 0 && f.left(f.lease) > 0 {
		alive = append(alive, &mvccpb.KeyValue{Value: []byte(encode(f.alive)), Lease: int64(f.lease)})
	}
	return &clientv3.TxnResponse{Header: &pb.ResponseHeader{ClusterId: 1}, Responses: []*pb.ResponseOp{answer(stored...), answer(alive...)}}
}

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
func (h *host) grant(ctx context.Context, f *fakeEtcd, observe observer) (now int64, err error) {
	k := keys("x/")
	if now, err = observe(h.agreed, ctx, h.store, k, testTerms.Skew, f.read()); err != nil {
		return 0, err
	}
	puts, err := h.agreed.vouch(ctx, h.store, k, clusterOf(f.read().Header), testTerms)
	if err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if now < h.last {
		return 0, fmt.Errorf("a process uses %d after %d", now, h.last)
	}
	h.last = now
	if f.time > now+testRenew.Microseconds() { // others may have raised it since it was read
		return 0, fmt.Errorf("a process uses %d, but %d was used before", now, f.time)
	}
	if len(puts) > 0 {
		if f.alive, err = decode[vouch](&mvccpb.KeyValue{Value: puts[0].ValueBytes()}); err != nil {
			return 0, err
		}
		f.lease = h.agreed.lease
	}
	f.time = max(f.time, now)
	return now, nil
}

// run renews until ctx ends, and then returns the first error of a check of the times.
func (h *host) run(ctx context.Context, f *fakeEtcd, observe observer, check func(now int64, took time.Duration) error) error {
	for {
		began := time.Now()
		now, err := h.grant(ctx, f, observe)
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
	f := &fakeEtcd{}
	client.KV, client.Lease = f, f
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
	go func() { results <- first.run(ctx, f, observe, near) }()
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
			results <- h.run(life, f, observe, func(now int64, took time.Duration) error {
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
			f.newLeader()
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
	client := errtest.Must(clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:1"}}))(t)
	defer client.Close()
	faults := map[string]observer{
		"none": (*agreed).observe,
		"each host uses its own clock": func(a *agreed, _ context.Context, s *Store, _ keys, _ int64, resp *clientv3.TxnResponse) (int64, error) {
			least, err := decodeNumber(only(resp.Responses[0].GetResponseRange().Kvs))
			a.set(max(s.clock().UnixMicro(), least))
			return a.now(), err
		},
		"a process that knows the time reads its clock again": func(a *agreed, ctx context.Context, s *Store, k keys, skew int64, resp *clientv3.TxnResponse) (int64, error) {
			if !a.at.IsZero() {
				a.set(max(a.now(), s.clock().UnixMicro()))
			}
			return a.observe(ctx, s, k, skew, resp)
		},
		"a new leader's count is trusted": func(a *agreed, ctx context.Context, s *Store, k keys, skew int64, resp *clientv3.TxnResponse) (int64, error) {
			alive := only(resp.Responses[1].GetResponseRange().Kvs)
			if alive == nil || !a.at.IsZero() {
				return a.observe(ctx, s, k, skew, resp)
			}
			v, err := decode[vouch](alive)
			if err != nil {
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
	client := errtest.Must(clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:1"}}))(t)
	defer client.Close()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeEtcd{}
		client.KV, client.Lease = f, f
		for _, step := range []struct{ clock, want time.Duration }{
			{time.Hour, time.Hour},         // the first, whose clock is ahead
			{0, time.Hour - 2*time.Minute}, // after it has ended: not before its time
			{2 * time.Hour, 2 * time.Hour}, // and a later clock counts
			{-time.Hour, 2*time.Hour - time.Minute*2},
		} {
			now := errtest.Must(newHost(client, step.clock).grant(t.Context(), f, (*agreed).observe))(t)
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
	client := errtest.Must(clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:1"}}))(t)
	defer client.Close()
	for _, restored := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeEtcd{}
			client.KV, client.Lease = f, f
			h := newHost(client, 0)
			errtest.Must(h.grant(t.Context(), f, (*agreed).observe))(t)
			h.offset = time.Hour // how the sleep looks to the process: only the wall clock has gone on
			if restored {
				f.newLeader()
			} else { // another process went on
				f.mu.Lock()
				f.time += time.Hour.Microseconds()
				f.mu.Unlock()
			}
			now := errtest.Must(h.grant(t.Context(), f, (*agreed).observe))(t)
			if behind := h.store.clock().Sub(time.UnixMicro(now)); behind.Abs() > testSkew {
				t.Errorf("restored %v: the agreed time is %v behind", restored, behind)
			}
		})
	}
}
