package zkstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/internal/kvlease"
	"github.com/snowkey-go/snowkey/lease"
)

const (
	// attempts is how often a call tries to begin an era if other processes do so too.
	attempts = 16

	// batch is how many requests are on their way at a time.
	batch = 64
)

// A Store keeps leases in the nodes of a ZooKeeper ensemble. Use [New] to create one; the
// zero Store isn't valid.
//
// A Store is safe for concurrent use.
type Store struct {
	engine
	conn *zk.Conn
	path string
	acl  []zk.ACL
}

type engine = kvlease.Store

var _ lease.Store = (*Store)(nil)

// New returns a store using the session of conn, with nodes below /snowkey that every
// client may change. Keep conn open for as long as you use the store. Leases survive the
// end of a session, since there are no ephemeral nodes and no watches involved.
func New(conn *zk.Conn) *Store {
	return newStore(conn, "/snowkey", zk.WorldACL(zk.PermAll))
}

func newStore(conn *zk.Conn, path string, acl []zk.ACL) *Store {
	s := &Store{conn: conn, path: path, acl: acl}
	s.engine = kvlease.Store{Backend: backend{s}, AtOnce: batch}
	return s
}

// WithPath returns a store with its nodes in another path, e.g. /apps/shop/snowkey.
// Migrate creates any nodes of the path that don't exist.
func (s *Store) WithPath(path string) (*Store, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	return newStore(s.conn, path, s.acl), nil
}

// WithACL returns a store that creates its nodes with a different access control list.
// Clients need every permission except PermAdmin. Existing nodes aren't changed.
func (s *Store) WithACL(acl []zk.ACL) *Store {
	return newStore(s.conn, s.path, slices.Clone(acl))
}

// Migrate creates any missing nodes in the store's path, and the three nodes below it.
// That's the only time it needs the permission to create nodes.
func (s *Store) Migrate(ctx context.Context) error {
	var paths []string
	for i, c := range s.path[1:] + "/" {
		if c == '/' {
			paths = append(paths, s.path[:i+1])
		}
	}
	return s.create(ctx, append(paths, s.path+"/namespaces", s.path+"/eras", s.path+"/clock")...) // each call asks for the clock first
}

func (s *Store) namespacePath(name string) string { return s.path + "/namespaces/" + escape(name) }

func (s *Store) layoutPath(t lease.Terms) string {
	return s.namespacePath(t.Namespace) + "/" + escape(t.Layout)
}

// nodePath returns the path of a worker's node, or that of the namespace.
func (s *Store) nodePath(t lease.Terms, worker int64) string {
	if worker == kvlease.OfNamespace {
		return s.namespacePath(t.Namespace)
	}
	return s.layoutPath(t) + "/" + strconv.FormatInt(worker, 10)
}

// A backend gives package kvlease the texts of nodes.
type backend struct{ *Store }

// nodes are what Read knows about the nodes, for Swap.
type nodes struct {
	era   *era
	stats map[int64]*zk.Stat // by worker; nil if there is no node
}

// Read implements [kvlease.Backend]. It asks the leader for the time first. If there has
// been an election, it begins the next era.
func (b backend) Read(ctx context.Context, terms lease.Terms, least, most int64) (v kvlease.View, err error) {
	read := nodes{stats: make(map[int64]*zk.Stat)}
	if v.Now, read.era, err = b.readEra(ctx); err != nil {
		return v, err
	}
	v.Terms, v.Current, v.Ref, v.Texts = whole(terms), read.era.name, read, make(map[int64]string)
	v.Where = func(worker int64) string { return fmt.Sprintf("the node %q", b.nodePath(terms, worker)) }
	if v.Volatile, err = b.volatile(ctx); err != nil {
		return v, err
	}
	workers, err := b.workers(ctx, terms, least, most)
	if err != nil {
		return v, err
	}
	var mu sync.Mutex
	return v, inParallel(append(workers, kvlease.OfNamespace), func(worker int64) error {
		path := b.nodePath(terms, worker)
		a, err := b.get(ctx, path)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := decode(path, a)
		mu.Lock()
		defer mu.Unlock()
		read.stats[worker], v.Texts[worker] = a.stat, text
		return err
	})
}

// workers returns the worker numbers of a range that may have a row.
func (b backend) workers(ctx context.Context, terms lease.Terms, least, most int64) (workers []int64, err error) {
	if most-least < batch {
		for worker := least; worker <= most; worker++ {
			workers = append(workers, worker)
		}
		return workers, nil
	}
	names, err := wait(ctx, func() ([]string, error) {
		names, _, err := b.conn.Children(b.layoutPath(terms))
		return names, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	for _, name := range names {
		if worker, err := strconv.ParseInt(name, 10, 64); err == nil {
			workers = append(workers, worker)
		}
	}
	return workers, err
}

// inParallel calls do for each worker, for up to batch of them at a time.
func inParallel(workers []int64, do func(worker int64) error) error {
	errs := make([]error, len(workers))
	var wg sync.WaitGroup
	slots := make(chan struct{}, batch)
	for i, worker := range workers {
		slots <- struct{}{}
		wg.Go(func() {
			errs[i] = do(worker)
			<-slots
		})
	}
	wg.Wait()
	return cmp.Or(errs...)
}

// Swap implements [kvlease.Backend]. If a node does not exist yet, it only creates an empty
// one, because a text contains the id of the node for which it was written.
func (b backend) Swap(ctx context.Context, v kvlease.View, _ bool, texts map[int64]string) (bool, error) {
	read := v.Ref.(nodes)
	var missing, written []int64
	ops := []any{&zk.CheckVersionRequest{Path: b.path + "/eras/" + read.era.name, Version: -1}}
	for worker, text := range texts {
		path, old, stat := b.nodePath(v.Terms, worker), v.Texts[worker], read.stats[worker]
		switch {
		case stat == nil:
			missing = append(missing, worker)
		case text == old:
			ops = append(ops, &zk.CheckVersionRequest{Path: path, Version: stat.Version})
		default:
			written = append(written, worker)
			ops = append(ops, &zk.SetDataRequest{Path: path, Data: encode(old, text, read.era, stat), Version: stat.Version})
		}
	}
	if missing != nil {
		if err := b.create(ctx, b.namespacePath(v.Terms.Namespace), b.layoutPath(v.Terms)); err != nil {
			return false, err
		}
		return false, inParallel(missing, func(worker int64) error { return b.create(ctx, b.nodePath(v.Terms, worker)) })
	}
	stats, conflict, err := b.write(ctx, ops...)
	if conflict || err != nil {
		return false, err
	}
	for i, worker := range written {
		if !applies(read.stats[worker].Czxid, read.era.epoch, stats[i]) {
			return false, nil
		}
	}
	return true, nil
}

// volatile reports whether the ensemble may lose commits without an election. A server
// that runs alone has no elections, and no members in /zookeeper/config.
func (s *Store) volatile(ctx context.Context) (bool, error) {
	a, err := s.get(ctx, "/zookeeper/config")
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNoAuth) {
		return true, nil // we can't tell
	}
	return !strings.Contains(string(a.data), "server."), err
}
