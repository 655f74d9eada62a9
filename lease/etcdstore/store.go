package etcdstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	mvccpb "go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowkey-go/snowkey/internal/leaserule"
	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/lease"
)

// A Store keeps leases in etcd. [New] returns one. A Store is safe for concurrent use.
type Store struct {
	client  *clientv3.Client
	prefix  string
	trusted bool             // whether each loss of commits changes the cluster id
	clock   func() time.Time // of the host

	mu    sync.Mutex
	times map[string]*agreed // by namespace
}

var _ lease.Store = (*Store)(nil)

// An Option changes a setting of [New].
type Option func(*Store)

// WithPrefix sets the prefix of all keys. Processes with different prefixes don't know
// of each other, so they may issue the same ids. Defaults to "snowkey/".
func WithPrefix(prefix string) Option { return func(s *Store) { s.prefix = prefix } }

// WithoutHoldOff makes claims grant ids at once, and allows layouts with ticks longer
// than a second. You must then make sure that etcd never loses a commit without a new
// cluster id: restore snapshots only with a new --initial-cluster-token, and never use
// --force-new-cluster or the disk of an older snapshot. Otherwise ids may repeat.
func WithoutHoldOff() Option { return func(s *Store) { s.trusted = true } }

// WithClock sets the host's clock. It must be the same as snowkey.Config.Clock, and safe
// for concurrent use. Defaults to [time.Now].
func WithClock(clock func() time.Time) Option { return func(s *Store) { s.clock = clock } }

// New returns a store that uses client. It does not connect to etcd, and does not close
// the client.
func New(client *clientv3.Client, options ...Option) *Store {
	s := &Store{client: client, prefix: "snowkey/", clock: time.Now, times: make(map[string]*agreed)}
	for _, set := range options {
		set(s)
	}
	return s
}

// attempts is how often a call reads and writes again if another process changed what
// it had read.
const attempts = 8

// rowsAtOnce limits the rows that AddRows adds. By default, etcd allows 128 operations
// in a transaction.
const rowsAtOnce = 100

// A view is what one transaction has read of a namespace.
type view struct {
	keys    keys
	cluster string // the id of the cluster that answered
	time    *mvccpb.KeyValue
	now     int64 // the agreed time
	agreed  *agreed
	gets    []*clientv3.GetResponse // of the operations that were passed to view
}

// view reads keys of a namespace, and finds out the agreed time.
func (s *Store) view(ctx context.Context, terms lease.Terms, gets ...clientv3.Op) (view, error) {
	v := view{keys: s.keys(terms.Namespace), agreed: s.agreed(terms.Namespace)}
	ops := append([]clientv3.Op{clientv3.OpGet(v.keys.time()), clientv3.OpGet(v.keys.alive())}, gets...)
	resp, err := s.commit(ctx, nil, ops)
	if err != nil {
		return v, err
	}
	v.cluster = clusterOf(resp.Header)
	for _, r := range resp.Responses {
		v.gets = append(v.gets, (*clientv3.GetResponse)(r.GetResponseRange()))
	}
	v.time, v.gets = only(v.gets[0].Kvs), v.gets[2:]
	v.now, err = v.agreed.observe(ctx, s, v.keys, terms.Skew, resp)
	return v, err
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
// half of the time that is left, so that a slow cluster has time to answer too.
func led[T any](ctx context.Context, s *Store, send func(context.Context) (T, error)) (T, error) {
	for tries := len(s.client.Endpoints()); ; tries-- {
		try, cancel := ctx, context.CancelFunc(func() {})
		if deadline, ok := ctx.Deadline(); ok && tries > 0 {
			try, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		}
		resp, err := send(clientv3.WithRequireLeader(try))
		again := errors.Is(err, rpctypes.ErrNoLeader) || timedOut(try, err) && ctx.Err() == nil
		cancel()
		if !again || tries <= 0 {
			return resp, s.explain(err)
		}
	}
}

// timedOut reports whether a request had no reply before its context ended.
func timedOut(ctx context.Context, err error) bool { return err != nil && ctx.Err() != nil }

func clusterOf(h *pb.ResponseHeader) string { return strconv.FormatUint(h.ClusterId, 16) }

// write executes puts if all conditions hold, and reports whether it did.
func (s *Store) write(ctx context.Context, v view, when []clientv3.Cmp, puts ...clientv3.Op) (bool, error) {
	resp, err := s.commit(ctx, when, puts)
	if err != nil {
		return false, err
	}
	if now := clusterOf(resp.Header); now != v.cluster {
		return false, fmt.Errorf("etcdstore: the cluster %s was replaced by %s during a call", v.cluster, now)
	}
	return resp.Succeeded, nil
}

// grant executes a put that may raise a bound. In the same transaction, it raises the
// agreed time to v.now, so that no bound is above the cap at the agreed time.
func (s *Store) grant(ctx context.Context, v view, terms lease.Terms, when []clientv3.Cmp, put clientv3.Op) (bool, error) {
	for again := true; ; again = false {
		vouch, err := v.agreed.vouch(ctx, s, v, terms)
		if err != nil {
			return false, err
		}
		ok, err := s.write(ctx, v, when, append(vouch, raiseTime(v.keys, v.now), put)...)
		if again && isNoLease(err) {
			v.agreed.forget() // this cluster does not have our etcd lease
			continue
		}
		return ok, err
	}
}

// raiseTime returns the operation that raises the agreed time to now, unless it is later.
func raiseTime(k keys, now int64) clientv3.Op {
	text := encodeNumber(now)
	later := clientv3.Compare(clientv3.Value(k.time()), ">", text)
	return clientv3.OpTxn([]clientv3.Cmp{later}, nil, []clientv3.Op{clientv3.OpPut(k.time(), text)})
}

// notLater is the condition that no grant used a time after v.now.
func notLater(v view) clientv3.Cmp {
	if v.time == nil {
		return unchanged(v.keys.time(), nil)
	}
	return clientv3.Compare(clientv3.Value(v.keys.time()), "<", encodeNumber(v.now+1))
}

// Migrate does nothing, because etcd needs no preparation.
func (s *Store) Migrate(ctx context.Context) error { return ctx.Err() }

// Layouts implements [lease.Store].
func (s *Store) Layouts(ctx context.Context, namespace string) (layouts []string, position int64, err error) {
	k := s.keys(namespace)
	resp, err := s.commit(ctx, nil, []clientv3.Op{
		clientv3.OpGet(k.layouts(), clientv3.WithPrefix()),
		clientv3.OpGet(k.rows(), clientv3.WithPrefix(), clientv3.WithKeysOnly()),
		clientv3.OpGet(k.position()),
	})
	if err != nil {
		return nil, 0, err
	}
	created, rows := resp.Responses[0].GetResponseRange().Kvs, resp.Responses[1].GetResponseRange().Kvs
	if position, err = decodeNumber(only(resp.Responses[2].GetResponseRange().Kvs)); err != nil {
		return nil, 0, err
	}
	found := make(map[string]bool)
	for prefix, kvs := range map[string][]*mvccpb.KeyValue{k.layouts(): created, k.rows(): rows} {
		for _, kv := range kvs {
			name, err := layoutOf(string(kv.Key), prefix)
			if err != nil {
				return nil, 0, damaged(kv, err)
			}
			if !found[name] {
				found[name] = true
				layouts = append(layouts, name)
			}
		}
	}
	return layouts, position, nil
}

// CreateNamespace implements [lease.Store].
func (s *Store) CreateNamespace(ctx context.Context, terms lease.Terms, position int64) (bool, error) {
	k := s.keys(terms.Namespace)
	v, err := s.view(ctx, terms, clientv3.OpGet(k.position()))
	if err != nil {
		return false, err
	}
	stored := only(v.gets[0].Kvs)
	next, err := decodeNumber(stored)
	if err != nil || next > position {
		return false, err
	}
	ns := namespace{Version: protocol.Version, Fingerprint: v.cluster, Fence: terms.At(v.now).NewFence}
	return s.write(ctx, v, []clientv3.Cmp{unchanged(k.layout(terms.Layout), nil), unchanged(k.position(), stored), notLater(v)},
		raiseTime(k, v.now), clientv3.OpPut(k.position(), encodeNumber(position+1)), clientv3.OpPut(k.layout(terms.Layout), encode(ns)))
}

// Probe implements [lease.Store].
func (s *Store) Probe(ctx context.Context, q lease.Query) (lease.Probe, error) {
	k := s.keys(q.Terms.Namespace)
	v, err := s.view(ctx, q.Terms, clientv3.OpGet(k.layout(q.Terms.Layout)), s.rowsOp(q.Terms, q.Min, q.Max))
	if err != nil {
		return lease.Probe{}, err
	}
	stored := only(v.gets[0].Kvs)
	ns, err := decodeNamespace(stored)
	if err != nil {
		return lease.Probe{}, err
	}
	rows, err := v.rows(q.Terms.Layout, v.gets[1])
	if err != nil {
		return lease.Probe{}, err
	}
	p := lease.Probe{
		HasNamespace: stored != nil, Fence: ns.Fence, Fingerprint: ns.Fingerprint,
		Current: v.cluster, Volatile: !s.trusted, Now: v.now, LastWorker: q.Min - 1,
	}
	if len(rows) > 0 {
		p.LastWorker = rows[len(rows)-1].Worker
	}
	rand.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	p.Row, p.HasRow = leaserule.Choose(rows, q)
	p.HasFree = p.HasRow && q.Terms.Free(p.Row)
	return p, nil
}

// rowsOp reads the rows of the workers from min to max.
func (s *Store) rowsOp(terms lease.Terms, min, max int64) clientv3.Op {
	k := s.keys(terms.Namespace)
	return clientv3.OpGet(k.row(terms.Layout, min), clientv3.WithRange(k.row(terms.Layout, max)+"\x00"))
}

// rows decodes rows, ordered by worker.
func (v view) rows(layout string, resp *clientv3.GetResponse) ([]lease.Row, error) {
	rows := make([]lease.Row, 0, len(resp.Kvs))
	for _, kv := range resp.Kvs {
		r, err := decode[row](kv)
		if err != nil {
			return nil, err
		}
		worker, err := strconv.ParseInt(strings.TrimPrefix(string(kv.Key), v.keys.rowsOf(layout)), 10, 64)
		if err != nil {
			return nil, damaged(kv, err)
		}
		rows = append(rows, r.leased(worker, v.now))
	}
	slices.SortFunc(rows, func(a, b lease.Row) int { return cmp.Compare(a.Worker, b.Worker) })
	return rows, nil
}

// Fence implements [lease.Store].
func (s *Store) Fence(ctx context.Context, terms lease.Terms, seen string) error {
	key := s.keys(terms.Namespace).layout(terms.Layout)
	for range attempts {
		v, err := s.view(ctx, terms, clientv3.OpGet(key))
		if err != nil {
			return err
		}
		stored := only(v.gets[0].Kvs)
		ns, err := decodeNamespace(stored)
		if err != nil || stored == nil || seen != "" && seen != ns.Fingerprint {
			return err
		}
		ns.Fingerprint, ns.Fence = v.cluster, max(ns.Fence, terms.At(v.now).RaisedFence)
		done, err := s.write(ctx, v, []clientv3.Cmp{unchanged(key, stored), notLater(v)}, clientv3.OpPut(key, encode(ns)))
		if err != nil || done {
			return err
		}
	}
	return errBusy
}

// AddRows implements [lease.Store]. It adds up to 100 rows.
func (s *Store) AddRows(ctx context.Context, terms lease.Terms, least, most int64) error {
	k := s.keys(terms.Namespace)
	for range attempts {
		v, err := s.view(ctx, terms, clientv3.OpGet(k.layout(terms.Layout)))
		if err != nil {
			return err
		}
		stored := only(v.gets[0].Kvs)
		if _, err := decodeNamespace(stored); err != nil {
			return err
		}
		limits := terms.At(v.now)
		when, bound := []clientv3.Cmp{notLater(v)}, limits.RaisedFence
		if stored == nil {
			when, bound = append(when, unchanged(k.layout(terms.Layout), nil)), limits.NewFence
		}
		var adds []clientv3.Op
		for worker := least; worker <= min(most, least+rowsAtOnce-1); worker++ {
			key := k.row(terms.Layout, worker)
			adds = append(adds, clientv3.OpTxn([]clientv3.Cmp{unchanged(key, nil)}, []clientv3.Op{clientv3.OpPut(key, encode(row{Bound: bound}))}, nil))
		}
		done, err := s.write(ctx, v, when, adds...)
		if err != nil || done {
			return err
		}
	}
	return errBusy
}

// Claim implements [lease.Store].
func (s *Store) Claim(ctx context.Context, c lease.Claim) (lease.Row, bool, error) {
	key := s.keys(c.Terms.Namespace).layout(c.Terms.Layout)
	return s.update(ctx, c.Terms, c.Seen.Worker, []clientv3.Op{clientv3.OpGet(key)}, func(v view, r *lease.Row, cluster *string) (bool, []clientv3.Cmp, error) {
		stored := only(v.gets[1].Kvs)
		ns, err := decodeNamespace(stored)
		if err != nil {
			return false, nil, err
		}
		*cluster = v.cluster
		return leaserule.Claim(r, leaserule.Namespace{
			Fingerprint: ns.Fingerprint, Fence: ns.Fence, Current: v.cluster, Volatile: !s.trusted,
		}, c), []clientv3.Cmp{unchanged(key, stored)}, nil
	})
}

// Renew implements [lease.Store]. It also refuses a renewal if the row was claimed in a
// cluster with another id.
func (s *Store) Renew(ctx context.Context, r lease.Renewal) (lease.Row, bool, error) {
	return s.update(ctx, r.Terms, r.Held.Worker, nil, func(v view, held *lease.Row, cluster *string) (bool, []clientv3.Cmp, error) {
		return *cluster == v.cluster && leaserule.Renew(held, !s.trusted, r), nil, nil
	})
}

// Release implements [lease.Store].
func (s *Store) Release(ctx context.Context, terms lease.Terms, held lease.Row, unused int64) (bool, error) {
	_, ok, err := s.update(ctx, terms, held.Worker, nil, func(_ view, r *lease.Row, _ *string) (bool, []clientv3.Cmp, error) {
		return leaserule.Release(r, held, unused), nil, nil
	})
	return ok, err
}

// update reads a row and more keys, calls change, and writes the changed row if no
// other process has changed it. The function change may return further conditions.
func (s *Store) update(ctx context.Context, terms lease.Terms, worker int64, more []clientv3.Op,
	change func(v view, r *lease.Row, cluster *string) (bool, []clientv3.Cmp, error),
) (lease.Row, bool, error) {
	key := s.keys(terms.Namespace).row(terms.Layout, worker)
	for range attempts {
		v, err := s.view(ctx, terms, append([]clientv3.Op{clientv3.OpGet(key)}, more...)...)
		if err != nil {
			return lease.Row{}, false, err
		}
		stored := only(v.gets[0].Kvs)
		old, err := decode[row](stored)
		if err != nil || stored == nil {
			return lease.Row{}, false, err
		}
		changed := old.leased(worker, v.now)
		ok, when, err := change(v, &changed, &old.Cluster)
		if err != nil || !ok {
			return lease.Row{}, false, err
		}
		put, write := clientv3.OpPut(key, encode(rowOf(changed, old.Cluster))), s.write
		when = append(when, unchanged(key, stored))
		if changed.Token != "" {
			ok, err = s.grant(ctx, v, terms, when, put)
		} else {
			ok, err = write(ctx, v, when, put)
		}
		if err != nil {
			return lease.Row{}, false, err
		}
		if ok {
			return changed, true, nil
		}
	}
	return lease.Row{}, false, errBusy
}

// Rows implements [lease.Store].
func (s *Store) Rows(ctx context.Context, terms lease.Terms, min, max int64) ([]lease.Row, error) {
	v, err := s.view(ctx, terms, s.rowsOp(terms, min, max))
	if err != nil {
		return nil, err
	}
	return v.rows(terms.Layout, v.gets[0])
}
