package zkstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/internal/leaserule"
	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/lease"
)

const (
	// defaultPath is the path of a [Store] unless WithPath says otherwise.
	defaultPath = "/snowkey"

	// attempts is how often a call prepares a write again if a node has changed since
	// it was read.
	attempts = 16

	// released is the name of the node that each release of a row of its layout sets.
	released = "released"

	// batch is how many requests are on their way at a time.
	batch = 64
)

// A Store keeps leases in the nodes of a ZooKeeper ensemble. Use [New] to create one.
// The methods of the zero value return an error.
//
// A Store is safe for concurrent use.
type Store struct {
	conn *zk.Conn
	path string
	acl  []zk.ACL

	mu   sync.Mutex
	held map[string]known   // by path; the rows that this store has claimed
	seen map[string]waiting // by the path of the layout; the rows that waiting probes have read
}

// waiting is what waiting probes know about a layout. A row that is leased becomes free
// only when its lease has expired, or when the holder releases it, which sets the node
// "released" as well.
type waiting struct {
	released zk.Stat
	rows     map[int64]lease.Row
}

// known is what a store knows about a node without reading it, because it has written
// it last, unless another process has done so since.
type known struct {
	era  *era
	row  lease.Row
	stat *zk.Stat
}

var _ lease.Store = (*Store)(nil)

// New returns a store that uses the session of conn, in the path /snowkey, with nodes
// that every client may change. The caller must keep conn open as long as the store is
// in use. The store needs no ephemeral nodes and no watches, so leases survive the end
// of a session.
func New(conn *zk.Conn) *Store {
	return &Store{conn: conn, path: defaultPath, acl: zk.WorldACL(zk.PermAll)}
}

// WithPath returns a store that keeps its nodes in another path, such as
// /apps/shop/snowkey. Migrate creates the nodes of the path that do not exist. WithPath
// returns a [*PathError] if the path is not valid.
func (s *Store) WithPath(path string) (*Store, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if err := checkPath(path); err != nil {
		return nil, err
	}
	return &Store{conn: s.conn, path: path, acl: s.acl}, nil
}

// WithACL returns a store that creates its nodes with another access control list.
// Clients need all permissions except PermAdmin. Nodes that exist are not changed.
func (s *Store) WithACL(acl []zk.ACL) *Store {
	return &Store{conn: s.conn, path: s.path, acl: slices.Clone(acl)}
}

func (s *Store) check() error {
	if s == nil || s.conn == nil {
		return errors.New("zkstore: the store has no connection; use zkstore.New")
	}
	return nil
}

// Migrate creates the nodes of the store's path that do not exist, and the four nodes
// below it. It needs the permission to create nodes only in that case.
func (s *Store) Migrate(ctx context.Context) error {
	if err := s.check(); err != nil {
		return err
	}
	for i, c := range s.path[1:] + "/" {
		if c == '/' {
			if err := s.create(ctx, s.path[:i+1], nil); err != nil {
				return err
			}
		}
	}
	for _, name := range []string{"/clock", "/eras", "/namespaces"} {
		if err := s.create(ctx, s.path+name, nil); err != nil {
			return err
		}
	}
	if err := s.create(ctx, s.path+"/version", []byte(protocol.Known())); err != nil {
		return err
	}
	return s.checkVersion(ctx)
}

func (s *Store) checkVersion(ctx context.Context) error {
	a, err := s.get(ctx, s.path+"/version")
	if err != nil {
		return notMigrated(err)
	}
	if found := string(a.data); found != protocol.Known() {
		return &lease.VersionError{Where: "the path " + s.path, Found: found}
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

func (s *Store) layoutPath(t lease.Terms) string {
	return s.namespacePath(t.Namespace) + "/" + escape(t.Layout)
}

func (s *Store) rowPath(t lease.Terms, worker int64) string {
	return s.layoutPath(t) + "/" + strconv.FormatInt(worker, 10)
}

// Namespaces returns the names of all namespaces, sorted.
func (s *Store) Namespaces(ctx context.Context) ([]string, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	names, err := s.children(ctx, s.path+"/namespaces")
	if err != nil {
		return nil, notMigrated(err)
	}
	for i, name := range names {
		if names[i], err = unescape(name); err != nil {
			return nil, damaged(s.path+"/namespaces/"+name, err)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Layouts implements [lease.Store].
func (s *Store) Layouts(ctx context.Context, namespace string) (layouts []string, position int64, err error) {
	if err := s.check(); err != nil {
		return nil, 0, err
	}
	if _, _, err := s.clock(ctx); err != nil {
		return nil, 0, err
	}
	path := s.namespacePath(namespace)
	position, _, err = s.position(ctx, namespace)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	names, err := s.children(ctx, path)
	if err != nil {
		return nil, 0, err
	}
	for _, name := range names {
		a, err := s.get(ctx, path+"/"+name)
		if err != nil {
			return nil, 0, err
		}
		sp, err := readLayout(path+"/"+name, a)
		if err != nil {
			return nil, 0, err
		}
		text, err := unescape(name)
		if err != nil {
			return nil, 0, damaged(path+"/"+name, err)
		}
		if sp.Fingerprint != "" || a.stat.NumChildren > 0 {
			layouts = append(layouts, text)
		}
	}
	return layouts, position, nil
}

// position returns the position of the next layout of a namespace.
func (s *Store) position(ctx context.Context, namespace string) (int64, *zk.Stat, error) {
	a, err := s.get(ctx, s.namespacePath(namespace))
	if err != nil || len(a.data) == 0 {
		return 0, a.stat, err
	}
	n, err := strconv.ParseInt(string(a.data), 10, 64)
	if err != nil {
		return 0, nil, damaged(s.namespacePath(namespace), err)
	}
	return n, a.stat, nil
}

func readLayout(path string, a answer) (space, error) {
	var l layoutNode
	if err := decode(path, a.data, &l); err != nil {
		return space{}, err
	}
	sp, _, err := l.apply(a.stat)
	if err != nil {
		return space{}, damaged(path, err)
	}
	return sp, nil
}

// readRow returns the row in the node of a worker, at the time of the last write.
func readRow(path string, worker int64, a answer) (lease.Row, error) {
	var r rowNode
	if err := decode(path, a.data, &r); err != nil {
		return lease.Row{}, err
	}
	out, _, err := r.apply(worker, a.stat)
	if err != nil {
		return lease.Row{}, damaged(path, err)
	}
	return out, nil
}

// CreateNamespace implements [lease.Store].
func (s *Store) CreateNamespace(ctx context.Context, terms lease.Terms, position int64) (created bool, err error) {
	if err := s.check(); err != nil {
		return false, err
	}
	_, zxid, err := s.clock(ctx)
	if err != nil {
		return false, err
	}
	for range attempts {
		e, err := s.readEra(ctx, zxid)
		if err != nil {
			return false, err
		}
		if err := s.create(ctx, s.namespacePath(terms.Namespace), nil); err != nil {
			return false, notMigrated(err)
		}
		next, ns, err := s.position(ctx, terms.Namespace)
		if err != nil || next > position {
			return false, err
		}
		if err := s.create(ctx, s.layoutPath(terms), nil); err != nil {
			return false, err
		}
		a, err := s.get(ctx, s.layoutPath(terms))
		if err != nil {
			return false, err
		}
		sp, err := readLayout(s.layoutPath(terms), a)
		if err != nil || sp.Fingerprint != "" {
			return false, err
		}
		l := layoutNode{change: change{doCreate, a.stat.Czxid, e.epoch, termsOf(terms)}, Fingerprint: e.name}
		stats, conflict, err := s.write(ctx, s.only(e),
			&zk.SetDataRequest{Path: s.namespacePath(terms.Namespace), Data: strconv.AppendInt(nil, position+1, 10), Version: ns.Version},
			&zk.SetDataRequest{Path: s.layoutPath(terms), Data: encode(l), Version: a.stat.Version})
		if err != nil {
			return false, err
		}
		if !conflict {
			if _, ok, err := l.apply(stats[1]); ok || err != nil {
				return ok, err
			}
			zxid = stats[1].Mzxid
		}
	}
	return false, errBusy(s.layoutPath(terms))
}

// Fence implements [lease.Store].
func (s *Store) Fence(ctx context.Context, terms lease.Terms, seen string) error {
	if err := s.check(); err != nil {
		return err
	}
	_, zxid, err := s.clock(ctx)
	if err != nil {
		return err
	}
	path := s.layoutPath(terms)
	for range attempts {
		e, err := s.readEra(ctx, zxid)
		if err != nil {
			return err
		}
		a, err := s.get(ctx, path)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if err != nil {
			return err
		}
		sp, err := readLayout(path, a)
		if err != nil || sp.Fingerprint == "" || seen != "" && seen != sp.Fingerprint {
			return err
		}
		l := layoutNode{Before: sp, change: change{doFence, a.stat.Czxid, e.epoch, termsOf(terms)}, Fingerprint: e.name}
		stats, conflict, err := s.write(ctx, s.only(e), &zk.SetDataRequest{Path: path, Data: encode(l), Version: a.stat.Version})
		if err != nil {
			return err
		}
		if !conflict {
			if _, ok, err := l.apply(stats[0]); ok || err != nil {
				return err
			}
			zxid = stats[0].Mzxid
		}
	}
	return errBusy(path)
}

// Probe implements [lease.Store]. It reads rows in random order, 64 at a time, until it
// finds one that is free. While the process waits, it reads only rows that may have become
// free since the last probe.
func (s *Store) Probe(ctx context.Context, q lease.Query) (p lease.Probe, err error) {
	if err := s.check(); err != nil {
		return p, err
	}
	q.Terms = whole(q.Terms)
	now, zxid, err := s.clock(ctx)
	if err != nil {
		return p, err
	}
	if err := s.checkVersion(ctx); err != nil {
		return p, err
	}
	e, err := s.readEra(ctx, zxid)
	if err != nil {
		return p, err
	}
	p = lease.Probe{Current: e.name, Now: now, LastWorker: q.Min - 1}
	if p.Volatile, err = s.volatile(ctx); err != nil {
		return p, err
	}
	workers, err := s.workers(ctx, q.Terms, q.Min, q.Max)
	if err != nil {
		return p, err
	}
	if len(workers) > 0 {
		p.LastWorker = workers[len(workers)-1]
	}
	rand.Shuffle(len(workers), func(i, j int) { workers[i], workers[j] = workers[j], workers[i] })
	if i := slices.Index(workers, q.PreferWorker); i > 0 {
		workers[0], workers[i] = workers[i], workers[0]
	}
	known, err := s.waiting(ctx, q)
	if err != nil {
		return p, err
	}
	var rows []lease.Row
	workers = slices.DeleteFunc(workers, func(worker int64) bool {
		r, ok := known.rows[worker]
		if r.Now = now; !ok || q.Terms.Free(r) {
			return false
		}
		rows = append(rows, r)
		return true
	})
	p.Row, p.HasRow = leaserule.Choose(rows, q)
	for some := range slices.Chunk(workers, batch) {
		read, err := s.read(ctx, q.Terms, some, now)
		if err != nil {
			return p, err
		}
		for _, r := range read {
			known.rows[r.Worker] = r
		}
		rows = append(rows, read...)
		if p.Row, p.HasRow = leaserule.Choose(rows, q); p.HasRow && q.Terms.Free(p.Row) && p.Row.Bound < q.Terms.At(now).Cap {
			break
		}
	}
	p.HasFree = p.HasRow && q.Terms.Free(p.Row)
	s.waited(q, known)

	// The layout comes last: if the namespace was deleted and created again meanwhile,
	// this is the fence of the later one.
	a, err := s.get(ctx, s.layoutPath(q.Terms))
	if errors.Is(err, zk.ErrNoNode) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	sp, err := readLayout(s.layoutPath(q.Terms), a)
	p.HasNamespace, p.Fence, p.Fingerprint = sp.Fingerprint != "", sp.Fence, sp.Fingerprint
	return p, err
}

// waiting returns what earlier probes of a waiting process have read, unless a row was
// released since. It is empty if the process doesn't wait.
func (s *Store) waiting(ctx context.Context, q lease.Query) (waiting, error) {
	none := waiting{rows: make(map[int64]lease.Row)}
	path := s.layoutPath(q.Terms)
	if !q.Waiting {
		return none, nil
	}
	a, err := s.get(ctx, path+"/"+released)
	if errors.Is(err, zk.ErrNoNode) {
		return none, nil
	}
	if err != nil {
		return none, err
	}
	none.released = *a.stat
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.seen[path]; ok && old.released == none.released {
		return waiting{old.released, maps.Clone(old.rows)}, nil
	}
	return none, nil
}

// waited keeps what a probe of a waiting process has read.
func (s *Store) waited(q lease.Query, w waiting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = make(map[string]waiting)
	}
	delete(s.seen, s.layoutPath(q.Terms))
	if w.released.Czxid != 0 {
		s.seen[s.layoutPath(q.Terms)] = w
	}
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

// workers returns the worker numbers of a range that have a row, in order.
func (s *Store) workers(ctx context.Context, terms lease.Terms, min, max int64) ([]int64, error) {
	names, err := s.children(ctx, s.layoutPath(terms))
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	var workers []int64
	for _, name := range names {
		if worker, err := strconv.ParseInt(name, 10, 64); err == nil && min <= worker && worker <= max {
			workers = append(workers, worker)
		}
	}
	slices.Sort(workers)
	return workers, err
}

// read returns the rows of up to batch workers, unless they were deleted.
func (s *Store) read(ctx context.Context, terms lease.Terms, workers []int64, now int64) ([]lease.Row, error) {
	rows := make([]lease.Row, len(workers))
	errs := make([]error, len(workers))
	var wg sync.WaitGroup
	for i, worker := range workers {
		wg.Go(func() {
			path := s.rowPath(terms, worker)
			a, err := s.get(ctx, path)
			if errors.Is(err, zk.ErrNoNode) {
				rows[i].Worker = -1
				return
			}
			if errs[i] = err; err == nil {
				rows[i], errs[i] = readRow(path, worker, a)
				rows[i].Now = now
			}
		})
	}
	wg.Wait()
	rows = slices.DeleteFunc(rows, func(r lease.Row) bool { return r.Worker < 0 })
	return rows, cmp.Or(errs...)
}

// Rows implements [lease.Store].
func (s *Store) Rows(ctx context.Context, terms lease.Terms, min, max int64) (rows []lease.Row, err error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	now, _, err := s.clock(ctx)
	if err != nil {
		return nil, err
	}
	workers := []int64{min}
	if min != max {
		if workers, err = s.workers(ctx, terms, min, max); err != nil {
			return nil, err
		}
	}
	for some := range slices.Chunk(workers, batch) {
		read, err := s.read(ctx, terms, some, now)
		if err != nil {
			return nil, err
		}
		rows = append(rows, read...)
	}
	return rows, nil
}

// AddRows implements [lease.Store].
func (s *Store) AddRows(ctx context.Context, terms lease.Terms, min, max int64) error {
	if err := s.check(); err != nil {
		return err
	}
	if _, _, err := s.clock(ctx); err != nil {
		return err
	}
	for _, path := range []string{s.namespacePath(terms.Namespace), s.layoutPath(terms), s.layoutPath(terms) + "/" + released} {
		if err := s.create(ctx, path, nil); err != nil {
			return notMigrated(err)
		}
	}
	there, err := s.workers(ctx, terms, min, max)
	if err != nil {
		return err
	}
	var missing []int64
	for worker := min; worker <= max; worker++ {
		if _, ok := slices.BinarySearch(there, worker); !ok {
			missing = append(missing, worker)
		}
	}
	for some := range slices.Chunk(missing, batch) {
		a, err := s.get(ctx, s.layoutPath(terms))
		if err != nil {
			return err
		}
		sp, err := readLayout(s.layoutPath(terms), a)
		if err != nil {
			return err
		}
		data := encode(rowNode{change: change{Do: doAdd, Terms: termsOf(terms)}, FirstRow: sp.Fingerprint == ""})
		errs := make([]error, len(some))
		var wg sync.WaitGroup
		for i, worker := range some {
			wg.Go(func() {
				// If the row exists, or the namespace has changed, a later call adds what is
				// missing.
				_, _, errs[i] = s.write(ctx,
					&zk.CheckVersionRequest{Path: s.layoutPath(terms), Version: a.stat.Version},
					&zk.CreateRequest{Path: s.rowPath(terms, worker), Data: data, Acl: s.acl})
			})
		}
		wg.Wait()
		if err := cmp.Or(errs...); err != nil {
			return err
		}
	}
	return nil
}

// Claim implements [lease.Store].
func (s *Store) Claim(ctx context.Context, c lease.Claim) (lease.Row, bool, error) {
	c.Terms = whole(c.Terms)
	return s.update(ctx, c.Terms, c.Seen.Worker, func(e *era, seen lease.Row) (*rowNode, any, error) {
		// The layout is read after the row: see Probe.
		path := s.layoutPath(c.Terms)
		a, err := s.get(ctx, path)
		if err != nil {
			return nil, nil, err
		}
		sp, err := readLayout(path, a)
		if err != nil {
			return nil, nil, err
		}
		volatile, err := s.volatile(ctx)
		if err != nil {
			return nil, nil, err
		}
		seen.Now = max(seen.Now, c.Seen.Now)
		if !leaserule.Claim(&seen, leaserule.Namespace{Fingerprint: sp.Fingerprint, Fence: sp.Fence, Current: e.name, Volatile: volatile}, c) {
			return nil, nil, nil
		}
		n := &rowNode{change: change{Do: doClaim}, Token: c.Token, Label: escape(c.Label), Wanted: c.Wanted}
		return n, &zk.CheckVersionRequest{Path: path, Version: a.stat.Version}, nil
	})
}

// Renew implements [lease.Store].
func (s *Store) Renew(ctx context.Context, r lease.Renewal) (lease.Row, bool, error) {
	return s.update(ctx, r.Terms, r.Held.Worker, func(_ *era, seen lease.Row) (*rowNode, any, error) {
		if !leaserule.Renew(&seen, false, r) {
			return nil, nil, nil
		}
		return &rowNode{change: change{Do: doRenew}, Token: r.Token, Wanted: r.Wanted}, nil, nil
	})
}

// Release implements [lease.Store].
func (s *Store) Release(ctx context.Context, terms lease.Terms, held lease.Row, unused int64) (bool, error) {
	_, ok, err := s.update(ctx, terms, held.Worker, func(_ *era, seen lease.Row) (*rowNode, any, error) {
		if !leaserule.Release(&seen, held, unused) {
			return nil, nil, nil
		}
		n := &rowNode{change: change{Do: doRelease}, Unused: unused}
		return n, &zk.SetDataRequest{Path: s.layoutPath(terms) + "/" + released, Version: -1}, nil
	})
	return ok, err
}

// update writes to the node of a row what prepare returns for the row, and returns what
// the row then is, and whether the write has changed it. If prepare returns nil, update
// writes nothing. A second operation that prepare returns is part of the transaction.
func (s *Store) update(ctx context.Context, terms lease.Terms, worker int64, prepare func(*era, lease.Row) (n *rowNode, second any, err error)) (lease.Row, bool, error) {
	if err := s.check(); err != nil {
		return lease.Row{}, false, err
	}
	path := s.rowPath(terms, worker)
	k, ok := s.take(path)
	zxid := int64(0)
	for range attempts {
		if !ok {
			var err error
			if k, err = s.know(ctx, path, worker, zxid); errors.Is(err, zk.ErrNoNode) {
				return lease.Row{}, false, nil
			} else if err != nil {
				return lease.Row{}, false, err
			}
		}
		n, second, err := prepare(k.era, k.row)
		if err != nil {
			return lease.Row{}, false, err
		}
		if n == nil && !ok {
			return lease.Row{}, false, nil
		}
		if n != nil {
			n.Before, n.Node, n.Epoch, n.Terms = stateOf(k.row), k.stat.Czxid, k.era.epoch, termsOf(terms)
			ops := []any{s.only(k.era), &zk.SetDataRequest{Path: path, Data: encode(n), Version: k.stat.Version}}
			if second != nil {
				ops = append(ops, second)
			}
			stats, conflict, err := s.write(ctx, ops...)
			if err != nil {
				return lease.Row{}, false, err
			}
			if !conflict {
				row, changed, err := n.apply(worker, stats[0])
				if err != nil {
					return lease.Row{}, false, damaged(path, err)
				}
				if changed {
					s.keep(path, known{k.era, row, stats[0]})
					return row, true, nil
				}
				if !n.void(stats[0]) {
					return lease.Row{}, false, nil
				}
			}
		}
		if _, zxid, err = s.clock(ctx); err != nil {
			return lease.Row{}, false, err
		}
		ok = false
	}
	return lease.Row{}, false, errBusy(path)
}

// know reads a row. It begins the next era if there has been an election before zxid.
func (s *Store) know(ctx context.Context, path string, worker, zxid int64) (known, error) {
	e, err := s.readEra(ctx, zxid)
	if err != nil {
		return known{}, err
	}
	a, err := s.get(ctx, path) // after the era, so that it is of this era
	if err != nil {
		return known{}, err
	}
	if a.stat.Version == -1 { // which is a condition that every version meets
		return known{}, &lease.PermanentError{Err: fmt.Errorf("zkstore: the node %q was written 4,294,967,295 times", path), Remedy: "delete it while no process runs"}
	}
	row, err := readRow(path, worker, a)
	return known{e, row, a.stat}, err
}

// take returns what is known about a node, once.
func (s *Store) take(path string) (k known, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok = s.held[path]
	delete(s.held, path)
	return k, ok
}

// keep keeps what is known about a node while this store holds its lease.
func (s *Store) keep(path string, k known) {
	if k.row.Token == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = make(map[string]known)
	}
	s.held[path] = k
}
