package etcdstore

import (
	"bytes"
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	mvccpb "go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

// A memory is an etcd with the transactions and etcd leases that a store uses. Package
// test/etcd runs the same suite on real members.
type memory struct {
	clientv3.KV
	clientv3.Lease
	mu      sync.Mutex
	keys    map[string]*mvccpb.KeyValue
	leases  []etcdLease
	cluster uint64
	before  func() // called before each transaction
	fail    error  // of each transaction; nil if none fails
	deaf    bool   // whether it answers requests whose context has ended
}

type etcdLease struct {
	since time.Time // when the leader began to count
	ttl   time.Duration
}

func newMemory(t *testing.T, options ...Option) (*Store, *memory) {
	client := unconnected(t)
	return New(client, options...), install(client)
}

// unconnected returns a client that answers nothing.
func unconnected(t *testing.T) *clientv3.Client {
	client := errtest.Must(clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:1"}}))(t)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// install makes a new memory answer the requests of a client.
func install(client *clientv3.Client) *memory {
	m := &memory{keys: make(map[string]*mvccpb.KeyValue), cluster: 1, before: func() {}}
	client.KV, client.Lease = m, m
	return m
}

func (m *memory) Close() error { return nil }

func (m *memory) Grant(_ context.Context, ttl int64) (*clientv3.LeaseGrantResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leases = append(m.leases, etcdLease{time.Now(), time.Duration(ttl) * time.Second})
	return &clientv3.LeaseGrantResponse{ID: clientv3.LeaseID(len(m.leases)), TTL: ttl}, nil
}

func (m *memory) TimeToLive(_ context.Context, id clientv3.LeaseID, _ ...clientv3.LeaseOption) (*clientv3.LeaseTimeToLiveResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &clientv3.LeaseTimeToLiveResponse{ID: id, TTL: int64(m.left(int64(id)) / time.Second), GrantedTTL: int64(m.leases[id-1].ttl / time.Second)}, nil
}

// left returns how long an etcd lease still lasts.
func (m *memory) left(id int64) time.Duration {
	return m.leases[id-1].ttl - time.Since(m.leases[id-1].since)
}

// newLeader counts each etcd lease from its full length again.
func (m *memory) newLeader() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.leases {
		if m.left(int64(i+1)) > 0 {
			m.leases[i].since = time.Now()
		}
	}
}

func (m *memory) Txn(ctx context.Context) clientv3.Txn { return &txn{memory: m, ctx: ctx} }

type txn struct {
	clientv3.Txn
	memory *memory
	ctx    context.Context
	when   []clientv3.Cmp
	then   []clientv3.Op
}

func (t *txn) If(when ...clientv3.Cmp) clientv3.Txn { t.when = when; return t }
func (t *txn) Then(ops ...clientv3.Op) clientv3.Txn { t.then = ops; return t }

func (t *txn) Commit() (*clientv3.TxnResponse, error) {
	if err := cmp.Or(t.ctx.Err(), t.memory.fail); err != nil && !t.memory.deaf {
		return nil, err
	}
	t.memory.before()
	t.memory.mu.Lock()
	defer t.memory.mu.Unlock()
	resp := &clientv3.TxnResponse{Header: &pb.ResponseHeader{ClusterId: t.memory.cluster}, Succeeded: t.memory.hold(t.when)}
	if resp.Succeeded {
		resp.Responses = t.memory.execute(t.then)
	}
	return resp, nil
}

// hold reports whether all conditions are true. The value of a key that doesn't exist has
// no relation to any other.
func (m *memory) hold(when []clientv3.Cmp) bool {
	return !slices.ContainsFunc(when, func(c clientv3.Cmp) bool {
		p := compareOf(c)
		kv := m.keys[string(p.Key)]
		if p.Target == pb.Compare_CREATE {
			return kv != nil // a store only compares it with 0
		}
		if kv == nil {
			return true
		}
		return map[pb.Compare_CompareResult]int{pb.Compare_EQUAL: 0, pb.Compare_LESS: -1, pb.Compare_GREATER: 1}[p.Result] != bytes.Compare(kv.Value, p.GetValue())
	})
}

// compareOf returns the message in a condition, which is the condition itself before client 3.7.
func compareOf(c clientv3.Cmp) *pb.Compare {
	if c, ok := any(&c).(interface{ GetCompare() *pb.Compare }); ok {
		return c.GetCompare()
	}
	return reflect.ValueOf(&c).Convert(reflect.TypeFor[*pb.Compare]()).Interface().(*pb.Compare)
}

func (m *memory) execute(ops []clientv3.Op) (answers []*pb.ResponseOp) {
	for _, op := range ops {
		switch {
		case op.IsGet():
			if op.IsSerializable() {
				panic("a member that is cut off from the others would answer this read")
			}
			kvs := m.list(string(op.KeyBytes()), string(op.RangeBytes()))
			answers = append(answers, &pb.ResponseOp{Response: &pb.ResponseOp_ResponseRange{ResponseRange: &pb.RangeResponse{Kvs: kvs}}})
			continue
		case op.IsPut():
			etcdLease := reflect.ValueOf(op).FieldByName("leaseID").Int()
			m.keys[string(op.KeyBytes())] = &mvccpb.KeyValue{Key: op.KeyBytes(), Value: op.ValueBytes(), Lease: etcdLease}
		case op.IsTxn():
			when, then, otherwise := op.Txn()
			if !m.hold(when) {
				then = otherwise
			}
			m.execute(then)
		}
		answers = append(answers, new(pb.ResponseOp))
	}
	return answers
}

// list returns a key, or those before end, unless their etcd lease has ended.
func (m *memory) list(key, end string) (kvs []*mvccpb.KeyValue) {
	for name, kv := range m.keys {
		if (name == key || key < name && name < end) && (kv.Lease == 0 || m.left(kv.Lease) > 0) {
			kvs = append(kvs, kv)
		}
	}
	slices.SortFunc(kvs, func(a, b *mvccpb.KeyValue) int { return bytes.Compare(a.Key, b.Key) })
	return kvs
}

// operated returns a store whose keys a test can edit.
func operated(s *Store, m *memory) lease.Store {
	return kvtest.Operator{Store: s, Change: func(_ context.Context, t lease.Terms, worker int64, change func(string) string) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		key := s.keys(t.Namespace).text(t.Layout, worker)
		if old := m.keys[key]; old != nil {
			m.keys[key] = &mvccpb.KeyValue{Key: []byte(key), Value: []byte(change(string(old.Value)))}
		}
		return nil
	}}
}

func TestStore(t *testing.T) {
	for name, options := range map[string][]Option{"hold-off": nil, "without hold-off": {WithoutHoldOff()}} {
		t.Run(name, func(t *testing.T) {
			leasetest.Run(t, func(t *testing.T) lease.Store {
				s, m := newMemory(t, options...)
				return operated(s, m)
			})
		})
	}
}

// claimable returns a process, and a claim of a free row.
func claimable(t *testing.T) (*Store, *memory, lease.Claim) {
	s, m := newMemory(t, WithoutHoldOff())
	p := &kvtest.Process{T: t, Store: s}
	p.Add()
	return s, m, p.ClaimOf(p.Look())
}

func TestFenceDuringAClaim(t *testing.T) {
	s, m, c := claimable(t)
	calls := 0
	m.before = func() {
		if calls++; calls == 2 { // the claim has read its row, and now writes it
			later := c.Terms
			later.Ahead *= 2 // so that the fence changes, even within the tick
			if err := s.Fence(t.Context(), later, ""); err != nil {
				t.Error(err)
			}
		}
	}
	if row, ok, err := s.Claim(t.Context(), c); ok || err != nil {
		t.Errorf("a claim below the fence: %+v, %v", row, err)
	}
	if calls < 4 {
		t.Errorf("the claim and the fence made %d calls", calls)
	}
}

// A cluster that is restored from a snapshot has another id, and may have lost renewals.
func TestRenewalInAnotherCluster(t *testing.T) {
	s, m, c := claimable(t)
	row, ok, err := s.Claim(t.Context(), c)
	if !ok || err != nil {
		t.Fatalf("claimed %v, %v", ok, err)
	}
	r := lease.Renewal{Terms: c.Terms, Held: row, Token: "b", Wanted: 1 << 62}
	m.cluster = 2
	if _, ok, err := s.Renew(t.Context(), r); ok || err != nil {
		t.Errorf("renewed %v in another cluster, %v", ok, err)
	}
	m.cluster = 1
	if _, ok, err := s.Renew(t.Context(), r); !ok || err != nil {
		t.Errorf("renewed %v, %v", ok, err)
	}
	if !strings.Contains(string(m.keys[s.keys("orders").text(c.Terms.Layout, 7)].Value), `"fingerprint":"1"`) {
		t.Error("the row has another cluster than that of its claim")
	}
}

// The agreed time is never before the time of a grant, whichever host made it.
func TestTimeOfGrants(t *testing.T) {
	s, m, c := claimable(t)
	row, ok, err := s.Claim(t.Context(), c)
	if !ok || err != nil {
		t.Fatalf("claimed %v, %v", ok, err)
	}
	key := s.keys("orders").time()
	if stored, err := decodeNumber(m.keys[key]); err != nil || stored != row.Now {
		t.Errorf("a claim at %d has raised the time to %d, %v", row.Now, stored, err)
	}
	ahead := row.Now + 500_000 // of a host whose clock is ahead by less than Skew
	m.keys[key].Value = []byte(encodeNumber(ahead))
	if p, err := s.Probe(t.Context(), lease.Query{Terms: c.Terms, Max: 7, PreferWorker: -1}); err != nil || p.Now < ahead {
		t.Errorf("the time is %d after %d, %v", p.Now, ahead, err)
	}
}
