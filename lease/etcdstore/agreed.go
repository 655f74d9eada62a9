package etcdstore

import (
	"context"
	"sync"
	"time"

	mvccpb "go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowkey-go/snowkey/internal/kvlease"
	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/lease"
)

// agreed is what this process knows about the agreed time of a namespace. The package
// comment explains the agreed time.
type agreed struct {
	mu sync.Mutex

	// base is the agreed time at the point at. It advances with the monotonic clock. If at
	// is zero, this process does not know the agreed time yet.
	base int64
	at   time.Time
	off  int64 // how far the host's clock was ahead of the agreed time when this process learned it

	stale bool // whether this process has to learn the agreed time again; see jumped

	// The etcd lease that this process attaches to the key alive.
	lease    clientv3.LeaseID // 0 if there is none
	granted  time.Time        // before it was requested
	started  int64            // the agreed time at that point
	duration time.Duration

	// These are only used while this process does not know the agreed time: when it looked
	// first, the latest value of the key time, and how often that has risen since.
	since  time.Time
	latest int64
	rises  int
}

// poll is how often a process that does not know the agreed time reads it again.
const poll = 100 * time.Millisecond

func (s *Store) agreed(namespace string) *agreed {
	a, _ := s.times.LoadOrStore(namespace, new(agreed))
	return a.(*agreed)
}

// now returns the agreed time as far as this process knows it.
func (a *agreed) now() int64 { return a.base + time.Since(a.at).Microseconds() }

func (a *agreed) set(now int64) { a.base, a.at = now, time.Now() }

// jumped reports whether the host's clock has gained on the agreed time since this process
// learned it. Then the machine was asleep, when the monotonic clock stands still, or the
// host's clock has jumped ahead. As long as we don't know which, we don't know the time.
func (a *agreed) jumped(wall, skew int64) bool { return wall-a.now()-a.off > skew }

// observe returns the agreed time. The keys time and alive are the first two answers of
// resp. If other processes are running and the host's clock differs from theirs, observe
// may read the keys again, for up to a third of a Window.
func (a *agreed) observe(ctx context.Context, s *Store, k keys, skew int64, resp *clientv3.TxnResponse) (int64, error) {
	for {
		stored, alive := resp.Responses[0].GetResponseRange().Kvs, resp.Responses[1].GetResponseRange().Kvs
		now, known, err := a.learn(ctx, s, skew, only(stored), only(alive), clusterOf(resp.Header))
		if err != nil || known {
			return now, err
		}
		select {
		case <-time.After(poll):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		resp, err = s.commit(ctx, nil, []clientv3.Op{clientv3.OpGet(k.time()), clientv3.OpGet(k.alive())})
		if err != nil {
			return 0, err
		}
	}
}

// learn updates what this process knows from the values of the keys time and alive. It
// reports false if it must read the keys again.
func (a *agreed) learn(ctx context.Context, s *Store, skew int64, stored, alive *mvccpb.KeyValue, cluster string) (int64, bool, error) {
	least, err := decodeNumber(stored)
	if err != nil {
		return 0, false, err
	}
	vouched, err := decode[vouch](alive)
	if err != nil {
		return 0, false, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	wall := s.clock().UnixMicro()
	learned := !a.at.IsZero()
	if learned && !a.stale && a.jumped(wall, skew) {
		a.stale, a.since, a.rises = true, time.Time{}, 0
	}
	switch {
	case learned && !a.stale && alive != nil:
		a.set(max(a.now(), least))
		return a.now(), true, nil
	case alive == nil || vouched.Cluster != cluster:
		// No process vouches for a time, so this host's clock decides.
		a.set(max(wall, least))
	default:
		known, err := a.meet(ctx, s, skew, least, vouched, clientv3.LeaseID(alive.Lease))
		if err != nil || !known {
			return 0, false, err
		}
	}
	a.off, a.stale = wall-a.now(), false
	return a.now(), true, nil
}

// meet compares this host's clock with the agreed time of processes that may still be
// running, and reports false if it can't tell yet who is right. If the host's clock is
// wrong, this process uses the agreed time too, and the keeper refuses to start.
func (a *agreed) meet(ctx context.Context, s *Store, skew, least int64, v vouch, id clientv3.LeaseID) (known bool, err error) {
	if a.since.IsZero() {
		a.since, a.latest = time.Now(), least
	}
	rose := least > a.latest
	if rose {
		a.latest = least
		a.rises++
	}
	wall := s.clock().UnixMicro()
	switch {
	case wall < least-skew:
		a.set(least) // the agreed time is never before least
	case rose && wall <= least+skew:
		a.set(max(wall, least))
	case a.rises >= 3 && time.Since(a.since).Microseconds() > 2*skew:
		a.set(least) // a single write may have been delayed, but not each of them
	default:
		// etcd knows how long ago its lease was granted, to the second.
		from, to, err := a.counted(ctx, s, v, id)
		if err != nil {
			return false, err
		}
		from, to = max(from, least), max(to, least)
		if wall < from-skew || wall > to+skew {
			return false, nil
		}
		a.set(max(wall, from))
	}
	return true, nil
}

// counted returns two times between which the agreed time is, as counted by etcd since
// the etcd lease of the key alive was granted. After another member became the leader,
// both are too early.
func (a *agreed) counted(ctx context.Context, s *Store, v vouch, id clientv3.LeaseID) (from, to int64, err error) {
	resp, err := led(ctx, s, func(ctx context.Context) (*clientv3.LeaseTimeToLiveResponse, error) {
		return s.client.TimeToLive(ctx, id)
	})
	if err != nil {
		return 0, 0, err
	}
	second := time.Second.Microseconds()
	from = v.Started + (resp.GrantedTTL-max(resp.TTL, 0)-1)*second
	return from, from + second, nil
}

// A vouch is the value of the key alive.
type vouch struct {
	Started int64  `json:"started"` // the agreed time when the etcd lease was requested
	Cluster string `json:"cluster"`
}

// vouch returns the operation that keeps the key alive for at least TTL and Skew. It
// returns nothing if the host's clock differs from the agreed time by more than Skew. If
// the clocks of all running hosts do, the key expires, and they agree on another time. It
// also returns nothing for a row that is reserved for ever, because such a row doesn't show
// that a process is running.
func (a *agreed) vouch(ctx context.Context, s *Store, k keys, cluster string, terms lease.Terms) ([]clientv3.Op, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if off := s.clock().UnixMicro() - a.now(); off > terms.Skew || off < -terms.Skew || terms.TTL >= protocol.Forever {
		return nil, nil
	}
	half := max(time.Duration(terms.TTL+terms.Skew)*time.Microsecond, 2*time.Second)
	if a.lease == 0 || time.Since(a.granted) > a.duration/2 || a.duration < half {
		began, started := time.Now(), a.now()
		resp, err := led(ctx, s, func(ctx context.Context) (*clientv3.LeaseGrantResponse, error) {
			return s.client.Grant(ctx, int64((2*half+time.Second-1)/time.Second))
		})
		if err != nil {
			return nil, err
		}
		a.lease, a.granted, a.started = resp.ID, began, started
		a.duration = time.Duration(resp.TTL) * time.Second
	}
	value := kvlease.Encode(vouch{Started: a.started, Cluster: cluster})
	return []clientv3.Op{clientv3.OpPut(k.alive(), value, clientv3.WithLease(a.lease))}, nil
}

// forget drops the etcd lease, which etcd does not know.
func (a *agreed) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lease = 0
}
