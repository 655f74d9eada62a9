package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	mvccpb "go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowkey-go/snowkey/internal/kvlease"
	"github.com/snowkey-go/snowkey/lease"
)

// A Store keeps leases in etcd. Use [New] to create one. A Store is safe for concurrent
// use.
type Store struct {
	engine
	client  *clientv3.Client
	prefix  string
	trusted bool             // whether each loss of commits changes the cluster id
	clock   func() time.Time // of the host

	times sync.Map // *agreed by namespace
}

type engine = kvlease.Store

var _ lease.Store = (*Store)(nil)

// An Option changes a setting of [New].
type Option func(*Store)

// WithPrefix sets the prefix for all keys. Processes with different prefixes don't know
// about each other and might issue the same ids. Defaults to "snowkey/".
func WithPrefix(prefix string) Option { return func(s *Store) { s.prefix = prefix } }

// WithoutHoldOff makes claims grant ids right away, and allows layouts with ticks longer
// than a second. It's then up to you to make sure that etcd never loses a commit without
// getting a new cluster id: always use a new --initial-cluster-token when restoring a
// snapshot, and never --force-new-cluster or the disk of an older snapshot. Otherwise ids
// may repeat.
func WithoutHoldOff() Option { return func(s *Store) { s.trusted = true } }

// WithClock sets the host's clock. It must be the same one as in snowkey.Config.Clock,
// and safe for concurrent use. Defaults to [time.Now].
func WithClock(clock func() time.Time) Option { return func(s *Store) { s.clock = clock } }

// New returns a store that uses client. It doesn't connect to etcd, and the client
// remains yours to close.
func New(client *clientv3.Client, options ...Option) *Store {
	s := &Store{client: client, prefix: "snowkey/", clock: time.Now}
	// By default, etcd allows 128 operations in a transaction.
	s.engine = kvlease.Store{Backend: backend{s}, AtOnce: 100, Pinned: true}
	for _, set := range options {
		set(s)
	}
	return s
}

// Migrate does nothing. There's nothing to prepare in etcd.
func (s *Store) Migrate(ctx context.Context) error { return ctx.Err() }

// A backend gives package kvlease the values of keys.
type backend struct{ *Store }

// Layouts implements [kvlease.Backend].
func (b backend) Layouts(ctx context.Context, namespace string) (layouts []string, err error) {
	k := b.keys(namespace)
	resp, err := b.commit(ctx, nil, []clientv3.Op{clientv3.OpGet(k.rows(), clientv3.WithPrefix(), clientv3.WithKeysOnly())})
	if err != nil {
		return nil, err
	}
	for _, kv := range resp.Responses[0].GetResponseRange().Kvs {
		layout, err := layoutOf(string(kv.Key), k.rows())
		if err != nil {
			return nil, damaged(kv, err)
		}
		layouts = append(layouts, layout)
	}
	return layouts, nil
}

// Read implements [kvlease.Backend]. It also finds out the agreed time.
func (b backend) Read(ctx context.Context, terms lease.Terms, least, most int64) (v kvlease.View, err error) {
	k := b.keys(terms.Namespace)
	ops := []clientv3.Op{clientv3.OpGet(k.time()), clientv3.OpGet(k.alive()), clientv3.OpGet(k.layouts())}
	if least <= most {
		ops = append(ops, clientv3.OpGet(k.row(terms.Layout, least), clientv3.WithRange(k.row(terms.Layout, most)+"\x00")))
	}
	resp, err := b.commit(ctx, nil, ops)
	if err != nil {
		return v, err
	}
	v = kvlease.View{Terms: terms, Current: clusterOf(resp.Header), Volatile: !b.trusted,
		Namespace: itemOf(kvlease.OfNamespace, only(resp.Responses[2].GetResponseRange().Kvs))}
	if v.Now, err = b.agreed(terms.Namespace).observe(ctx, b.Store, k, terms.Skew, resp); err != nil || least > most {
		return v, err
	}
	for _, kv := range resp.Responses[3].GetResponseRange().Kvs {
		worker, err := strconv.ParseInt(strings.TrimPrefix(string(kv.Key), k.rowsOf(terms.Layout)), 10, 64)
		if err != nil {
			return v, damaged(kv, err)
		}
		v.Rows = append(v.Rows, itemOf(worker, kv))
	}
	return v, nil
}

// itemOf returns the item that a key is. If kv is nil, the key does not exist.
func itemOf(worker int64, kv *mvccpb.KeyValue) kvlease.Item {
	if kv == nil {
		return kvlease.Item{Worker: worker}
	}
	return kvlease.Item{Worker: worker, Value: string(kv.Value), Where: fmt.Sprintf("the key %q", kv.Key)}
}

// Swap implements [kvlease.Backend]. With a grant, it also raises the agreed time to
// v.Now in the same transaction, so that no bound is above the cap at the agreed time. It
// compares values rather than revisions because restoring a snapshot can cause revision
// numbers to be reused.
func (b backend) Swap(ctx context.Context, v kvlease.View, grants bool, changes ...kvlease.Change) (bool, error) {
	k := b.keys(v.Terms.Namespace)
	var when []clientv3.Cmp
	var puts []clientv3.Op
	for _, c := range changes {
		key := k.layouts()
		if c.Worker != kvlease.OfNamespace {
			key = k.row(v.Terms.Layout, c.Worker)
		}
		if c.Value == "" {
			when = append(when, clientv3.Compare(clientv3.CreateRevision(key), "=", 0))
		} else {
			when = append(when, clientv3.Compare(clientv3.Value(key), "=", c.Value))
		}
		if c.New != c.Value {
			puts = append(puts, clientv3.OpPut(key, c.New))
		}
	}
	if !grants {
		return b.write(ctx, v, when, puts)
	}
	puts = append(puts, raiseTime(k, v.Now))
	a := b.agreed(v.Terms.Namespace)
	for again := true; ; again = false {
		vouch, err := a.vouch(ctx, b.Store, k, v.Current, v.Terms)
		if err != nil {
			return false, err
		}
		done, err := b.write(ctx, v, when, append(vouch, puts...))
		if again && errors.Is(err, rpctypes.ErrLeaseNotFound) {
			a.forget() // this cluster does not have our etcd lease
			continue
		}
		return done, err
	}
}

// write executes puts if all conditions hold, and reports whether it did.
func (b backend) write(ctx context.Context, v kvlease.View, when []clientv3.Cmp, puts []clientv3.Op) (bool, error) {
	resp, err := b.commit(ctx, when, puts)
	if err != nil {
		return false, err
	}
	if now := clusterOf(resp.Header); now != v.Current {
		return false, fmt.Errorf("etcdstore: the cluster %s was replaced by %s during a call", v.Current, now)
	}
	return resp.Succeeded, nil
}

// raiseTime returns the operation that raises the agreed time to now, unless it is later.
func raiseTime(k keys, now int64) clientv3.Op {
	text := encodeNumber(now)
	later := clientv3.Compare(clientv3.Value(k.time()), ">", text)
	return clientv3.OpTxn([]clientv3.Cmp{later}, nil, []clientv3.Op{clientv3.OpPut(k.time(), text)})
}

// commit executes a transaction. It may execute it again, if there was no reply.
func (s *Store) commit(ctx context.Context, when []clientv3.Cmp, ops []clientv3.Op) (*clientv3.TxnResponse, error) {
	silent := false
	resp, err := led(ctx, s, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		resp, err := s.client.Txn(ctx).If(when...).Then(ops...).Commit()
		silent = silent || timedOut(ctx, err)
		return resp, err
	})
	if err == nil && silent && !resp.Succeeded {
		// The conditions may fail because of our own first request.
		return nil, errors.New("etcdstore: a request had no reply, and it may have been executed")
	}
	return resp, err
}

// led sends a request to a member that answers and knows the leader. The client sends
// requests to all members in turn, also to those that are cut off from the others, which
// refuse them at once, and to those that hang. So led tries the next member. Each try has
// half of the time that is left, so that a slow cluster has time to answer too. After an
// outage, gRPC waits for up to two minutes before it connects again, which is too long for
// a lease. So after a try without a reply, led makes it connect at once.
func led[T any](ctx context.Context, s *Store, send func(context.Context) (T, error)) (T, error) {
	for tries := len(s.client.Endpoints()); ; tries-- {
		try, cancel := ctx, context.CancelFunc(func() {})
		if deadline, ok := ctx.Deadline(); ok && tries > 0 {
			try, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		}
		resp, err := send(clientv3.WithRequireLeader(try))
		silent := timedOut(try, err)
		cancel()
		if silent {
			s.client.ActiveConnection().ResetConnectBackoff()
		}
		again := errors.Is(err, rpctypes.ErrNoLeader) || silent && ctx.Err() == nil
		if !again || tries <= 0 {
			return resp, s.explain(err)
		}
	}
}

// timedOut reports whether a request had no reply before its context ended.
func timedOut(ctx context.Context, err error) bool { return err != nil && ctx.Err() != nil }

func clusterOf(h *pb.ResponseHeader) string { return strconv.FormatUint(h.ClusterId, 16) }
