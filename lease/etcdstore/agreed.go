package etcdstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
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
	mu    sync.Mutex
	known bool // whether this process knows the agreed time; see jumped

	// base is the agreed time at the point at. It advances with the monotonic clock.
	base int64
	at   time.Time
	off  int64 // how far the host's clock was ahead of the agreed time when this process learned it

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

func (a *agreed) set(now int64) { a.known, a.base, a.at = true, now, time.Now() }

// jumped reports whether the host's clock has gained on the agreed time since this process
// learned it. Then the machine was asleep, when the monotonic clock stands still, or the
// host's clock has jumped ahead. As long as we don't know which, we don't know the time.
func (a *agreed) jumped(wall, skew int64) bool { return wall-a.now()-a.off > skew }

// observe returns the agreed time. The keys time and alive are the first two answers of
// resp. If other processes are running and the host's clock differs from theirs, observe
// may read the keys again, for up to a third of a Window.
func (a *agreed) observe(ctx context.Context, s *Store, k keys, skew int64, resp *clientv3.TxnResponse) (int64, error) {
	for {
		now, known, err := a.learn(ctx, s, skew, resp)
		if err != nil || known {
			return now, err
		}
		select {
		case <-time.After(poll):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		if resp, err = s.commit(ctx, nil, k.times()); err != nil {
			return 0, err
		}
	}
}

// learn updates what this process knows from the values of the keys time and alive. It
// reports false if it must read the keys again.
func (a *agreed) learn(ctx context.Context, s *Store, skew int64, resp *clientv3.TxnResponse) (int64, bool, error) {
	least, err := decodeNumber(only(resp, 0))
	if err != nil {
		return 0, false, err
	}
	var vouched vouch
	alive := only(resp, 1)
	if err := decode(alive, &vouched); err != nil {
		return 0, false, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	wall := s.clock().UnixMicro()
	if a.known && a.jumped(wall, skew) {
		a.known, a.since, a.rises = false, time.Time{}, 0
	}
	switch {
	case a.known && alive != nil:
		a.set(max(a.now(), least))
		return a.now(), true, nil
	case alive == nil || vouched.Cluster != clusterOf(resp.Header):
		// No process vouches for a time, so this host's clock decides.
		a.set(max(wall, least))
	default:
		if err := a.meet(ctx, s, skew, least, vouched, clientv3.LeaseID(alive.Lease)); err != nil || !a.known {
			return 0, false, err
		}
	}
	a.off = wall - a.now()
	return a.now(), true, nil
}

// meet compares this host's clock with the agreed time of processes that may still be
// running, and leaves the time unknown if it can't tell yet who is right. If the host's
// clock is wrong, this process uses the agreed time too, and the keeper refuses to start.
func (a *agreed) meet(ctx context.Context, s *Store, skew, least int64, v vouch, id clientv3.LeaseID) error {
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
			return err
		}
		from, to = max(from, least), max(to, least)
		if from-skew <= wall && wall <= to+skew {
			a.set(max(wall, from))
		}
	}
	return nil
}

// counted returns two times between which the agreed time is, as counted by etcd since
// the etcd lease of the key alive was granted. After another member became the leader,
// both are too early.
func (a *agreed) counted(ctx context.Context, s *Store, v vouch, id clientv3.LeaseID) (from, to int64, err error) {
	resp, _, err := led(ctx, s, func(ctx context.Context) (*clientv3.LeaseTimeToLiveResponse, error) {
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
		resp, _, err := led(ctx, s, func(ctx context.Context) (*clientv3.LeaseGrantResponse, error) {
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

// raiseTime returns the operation that raises the agreed time to now, unless it is later.
func raiseTime(k keys, now int64) clientv3.Op {
	text := encodeNumber(now)
	later := clientv3.Compare(clientv3.Value(k.time()), ">", text)
	return clientv3.OpTxn([]clientv3.Cmp{later}, nil, []clientv3.Op{clientv3.OpPut(k.time(), text)})
}

// decode decodes the value of a key. If kv is nil, it leaves value unchanged.
func decode(kv *mvccpb.KeyValue, value any) error {
	if kv == nil {
		return nil
	}
	if err := json.Unmarshal(kv.Value, value); err != nil {
		return damaged(kv, err)
	}
	return nil
}

func damaged(kv *mvccpb.KeyValue, err error) error {
	return &lease.PermanentError{
		Err:    fmt.Errorf("etcdstore: the value of the key %q is not one of Snowkey's: %w", kv.Key, err),
		Remedy: "use another prefix, or restore the key",
	}
}

// encodeNumber writes 19 digits, so that etcd can compare two numbers as texts.
func encodeNumber(n int64) string { return fmt.Sprintf("%019d", max(n, 0)) }

// decodeNumber returns 0 if kv is nil.
func decodeNumber(kv *mvccpb.KeyValue) (int64, error) {
	if kv == nil {
		return 0, nil
	}
	n, err := strconv.ParseInt(string(kv.Value), 10, 64)
	if err != nil {
		return 0, damaged(kv, err)
	}
	return n, nil
}

// only returns the only key that the operation i of a transaction has read, or nil.
func only(resp *clientv3.TxnResponse, i int) *mvccpb.KeyValue {
	if kvs := resp.Responses[i].GetResponseRange().Kvs; len(kvs) > 0 {
		return kvs[0]
	}
	return nil
}
