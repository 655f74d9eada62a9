package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

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

// Read implements [kvlease.Backend]. It also finds out the agreed time.
func (b backend) Read(ctx context.Context, terms lease.Terms, least, most int64) (v kvlease.View, err error) {
	k := b.keys(terms.Namespace)
	texts := []clientv3.Op{
		clientv3.OpGet(k.text(terms.Layout, kvlease.OfNamespace)),
		clientv3.OpGet(k.text(terms.Layout, least), clientv3.WithRange(k.text(terms.Layout, max(least, most))+"\x00")),
	}
	resp, err := b.commit(ctx, nil, append(k.times(), texts...))
	if err != nil {
		return v, err
	}
	v = kvlease.View{
		Terms: terms, Current: clusterOf(resp.Header), Volatile: !b.trusted, Texts: make(map[int64]string),
		Where: func(worker int64) string { return fmt.Sprintf("the key %q", k.text(terms.Layout, worker)) },
	}
	if layouts := only(resp, 2); layouts != nil {
		v.Texts[kvlease.OfNamespace] = string(layouts.Value)
	}
	for _, kv := range resp.Responses[3].GetResponseRange().Kvs {
		worker, err := strconv.ParseInt(strings.TrimPrefix(string(kv.Key), k.rows(terms.Layout)), 10, 64)
		if err != nil {
			return v, damaged(kv, err)
		}
		v.Texts[worker] = string(kv.Value)
	}
	v.Now, err = b.agreed(terms.Namespace).observe(ctx, b.Store, k, terms.Skew, resp)
	return v, err
}

// Swap implements [kvlease.Backend]. With a grant, it also raises the agreed time to
// v.Now in the same transaction, so that no bound is above the cap at the agreed time.
func (b backend) Swap(ctx context.Context, v kvlease.View, grants bool, texts map[int64]string) (bool, error) {
	k, a := b.keys(v.Terms.Namespace), b.agreed(v.Terms.Namespace)
	var when []clientv3.Cmp
	var puts []clientv3.Op
	for worker, text := range texts {
		key, old := k.text(v.Terms.Layout, worker), v.Texts[worker]
		if old == "" {
			when = append(when, clientv3.Compare(clientv3.CreateRevision(key), "=", 0))
		} else {
			when = append(when, clientv3.Compare(clientv3.Value(key), "=", old))
		}
		if text != old {
			puts = append(puts, clientv3.OpPut(key, text))
		}
	}
	if grants {
		vouch, err := a.vouch(ctx, b.Store, k, v.Current, v.Terms)
		if err != nil {
			return false, err
		}
		puts = append(puts, append(vouch, raiseTime(k, v.Now))...)
	}
	resp, err := b.commit(ctx, when, puts)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		a.forget() // this cluster does not have our etcd lease; the next attempt gets another
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if now := clusterOf(resp.Header); now != v.Current {
		return false, fmt.Errorf("etcdstore: the cluster %s was replaced by %s during a call", v.Current, now)
	}
	return resp.Succeeded, nil
}

// keys builds the keys of one namespace. Names are escaped as in the path of a URL, so
// that no name contains a slash.
type keys string

func (s *Store) keys(namespace string) keys { return keys(s.prefix + url.PathEscape(namespace) + "/") }

// time is the key of the agreed time. It is never lowered.
func (k keys) time() string { return string(k) + "time" }

// alive is the key that exists while some process vouches for the agreed time.
func (k keys) alive() string { return string(k) + "alive" }

// times returns the operations that read both of these keys.
func (k keys) times() []clientv3.Op {
	return []clientv3.Op{clientv3.OpGet(k.time()), clientv3.OpGet(k.alive())}
}

// rows returns the prefix of a layout's rows.
func (k keys) rows(layout string) string { return string(k) + "rows/" + url.PathEscape(layout) + "/" }

// text returns the key of a row, or of the namespace's text, which has the layouts with
// their fences. Workers have 19 digits, so that the order of the keys is the order of the
// workers.
func (k keys) text(layout string, worker int64) string {
	if worker == kvlease.OfNamespace {
		return string(k) + "layouts"
	}
	return k.rows(layout) + encodeNumber(worker)
}
