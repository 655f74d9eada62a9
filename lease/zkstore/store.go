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
	// defaultPath is the path of a [Store] unless WithPath says otherwise.
	defaultPath = "/snowkey"

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
	return newStore(conn, defaultPath, zk.WorldACL(zk.PermAll))
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
	for i, c := range s.path[1:] + "/" {
		if c == '/' {
			if err := s.create(ctx, s.path[:i+1]); err != nil {
				return err
			}
		}
	}
	for _, name := range []string{"/namespaces", "/eras", "/clock"} { // each call asks for the clock first
		if err := s.create(ctx, s.path+name); err != nil {
			return err
		}
	}
	return nil
}

func notMigrated(err error) error {
	if errors.Is(err, zk.ErrNoNode) {
		return lease.ErrNotMigrated
	}
	return err
}

func (s *Store) namespacePath(name string) string { return s.path + "/namespaces/" + escape(name) }

// nodePath returns the path of a worker's node, or that of the namespace.
func (s *Store) nodePath(t lease.Terms, worker int64) string {
	path := s.namespacePath(t.Namespace)
	if worker == kvlease.OfNamespace {
		return path
	}
	return path + "/" + escape(t.Layout) + "/" + strconv.FormatInt(worker, 10)
}

// A backend gives package kvlease the texts of nodes.
type backend struct{ *Store }

// nodes are what Read knows about the nodes, for Swap.
type nodes struct {
	era   *era
	stats map[int64]*zk.Stat // by worker; nil if there is no node
}

// Layouts implements [kvlease.Backend].
func (b backend) Layouts(ctx context.Context, namespace string) (layouts []string, err error) {
	path := b.namespacePath(namespace)
	names, err := b.children(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	for _, name := range names {
		a, err := b.get(ctx, path+"/"+name)
		if err != nil {
			return nil, err
		}
		layout, err := unescape(name)
		if err != nil {
			return nil, damaged(path+"/"+name, err)
		}
		if a.stat.NumChildren > 0 {
			layouts = append(layouts, layout)
		}
	}
	return layouts, err
}

// Read implements [kvlease.Backend]. It asks the leader for the time first. If there has
// been an election, it begins the next era.
func (b backend) Read(ctx context.Context, terms lease.Terms, least, most int64) (v kvlease.View, err error) {
	v.Terms = whole(terms)
	now, zxid, err := b.clock(ctx)
	if err != nil {
		return v, err
	}
	read := nodes{stats: make(map[int64]*zk.Stat)}
	if read.era, err = b.readEra(ctx, zxid); err != nil {
		return v, err
	}
	v.Now, v.Current, v.Ref = now, read.era.name, read
	if v.Volatile, err = b.volatile(ctx); err != nil {
		return v, err
	}
	workers, err := b.workers(ctx, terms, least, most)
	if err != nil {
		return v, err
	}
	items := make([]kvlease.Item, len(workers)+1)
	var mu sync.Mutex
	err = inParallel(append(workers, kvlease.OfNamespace), func(i int, worker int64) error {
		path := b.nodePath(terms, worker)
		items[i] = kvlease.Item{Worker: worker, Where: fmt.Sprintf("the node %q", path)}
		a, err := b.get(ctx, path)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if err != nil {
			return err
		}
		mu.Lock()
		read.stats[worker] = a.stat
		mu.Unlock()
		items[i].Value, err = decode(path, a)
		return err
	})
	v.Namespace = items[len(workers)]
	v.Rows = slices.DeleteFunc(items[:len(workers)], func(i kvlease.Item) bool { return i.Value == "" })
	return v, err
}

// workers returns the worker numbers of a range that may have a row, in order.
func (b backend) workers(ctx context.Context, terms lease.Terms, least, most int64) (workers []int64, err error) {
	if most-least < batch {
		for worker := least; worker <= most; worker++ {
			workers = append(workers, worker)
		}
		return workers, nil
	}
	names, err := b.children(ctx, b.namespacePath(terms.Namespace)+"/"+escape(terms.Layout))
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	for _, name := range names {
		if worker, err := strconv.ParseInt(name, 10, 64); err == nil && least <= worker && worker <= most {
			workers = append(workers, worker)
		}
	}
	slices.Sort(workers)
	return workers, err
}

// inParallel calls do for each worker, for up to batch of them at a time.
func inParallel(workers []int64, do func(i int, worker int64) error) error {
	errs := make([]error, len(workers))
	var wg sync.WaitGroup
	slots := make(chan struct{}, batch)
	for i, worker := range workers {
		slots <- struct{}{}
		wg.Go(func() {
			errs[i] = do(i, worker)
			<-slots
		})
	}
	wg.Wait()
	return cmp.Or(errs...)
}

// Swap implements [kvlease.Backend]. If a node does not exist yet, it only creates an empty
// one, because a text contains the id of the node for which it was written.
func (b backend) Swap(ctx context.Context, v kvlease.View, _ bool, changes ...kvlease.Change) (bool, error) {
	read := v.Ref.(nodes)
	var missing, written []int64
	ops := []any{&zk.CheckVersionRequest{Path: b.path + "/eras/" + read.era.name, Version: -1}}
	for _, c := range changes {
		path, stat := b.nodePath(v.Terms, c.Worker), read.stats[c.Worker]
		switch {
		case stat == nil:
			missing = append(missing, c.Worker)
		case c.New == c.Value:
			ops = append(ops, &zk.CheckVersionRequest{Path: path, Version: stat.Version})
		default:
			written = append(written, c.Worker)
			ops = append(ops, &zk.SetDataRequest{Path: path, Data: encode(c, read.era, stat), Version: stat.Version})
		}
	}
	if missing != nil {
		return false, b.createNodes(ctx, v.Terms, missing)
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

// createNodes creates empty nodes, and those above them.
func (b backend) createNodes(ctx context.Context, terms lease.Terms, workers []int64) error {
	above := []string{b.namespacePath(terms.Namespace), b.namespacePath(terms.Namespace) + "/" + escape(terms.Layout)}
	for _, path := range above {
		if err := b.create(ctx, path); err != nil {
			return notMigrated(err)
		}
	}
	return inParallel(workers, func(_ int, worker int64) error { return b.create(ctx, b.nodePath(terms, worker)) })
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
