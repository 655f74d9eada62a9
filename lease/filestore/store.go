package filestore

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/snowkey-go/snowkey/internal/leaserule"
	"github.com/snowkey-go/snowkey/lease"
)

// A Store keeps leases in the files of a directory. Use [Dir] to create one. All
// methods of the zero value return an error, except Examine.
//
// A Store is safe for concurrent use, also by many processes. It keeps no files open
// between calls. If the ctx of a call ends while another process has the lock, the call
// returns an error and has no effect.
type Store struct {
	path  string
	mode  fs.FileMode      // of the directory
	clock func() time.Time // read under the lock; time.Now if nil
}

var _ lease.Store = (*Store)(nil)

// An Option changes a setting of [Dir].
type Option func(*Store)

// Mode sets the permissions of the directory, if Migrate creates it, and of the files,
// except for the execute bits. Defaults to 0700. With 0770, a group may share the
// directory: the calls then accept one that another user owns and that its group may write
// to. Include [fs.ModeSetgid] to give new files the group of the directory.
func Mode(mode fs.FileMode) Option { return func(s *Store) { s.mode = mode } }

// Dir returns a store in the directory at path. The directory need not exist yet.
func Dir(path string, options ...Option) *Store {
	if abs, err := filepath.Abs(path); path != "" && err == nil {
		path = abs // because the program may change its working directory
	}
	s := &Store{path: path, mode: 0o700}
	for _, set := range options {
		set(s)
	}
	return s
}

func (s *Store) now() int64 {
	if s.clock == nil {
		return time.Now().UnixMicro()
	}
	return s.clock().UnixMicro()
}

// Migrate creates the directory if it does not exist. It also removes
// unfinished files.
func (s *Store) Migrate(ctx context.Context) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	if err := makeDir(s.path, s.mode); err != nil {
		return s.explain(err)
	}
	return s.locked(ctx, (*dir).tidy)
}

// Layouts implements [lease.Store].
func (s *Store) Layouts(ctx context.Context, namespace string) (layouts []string, position int64, err error) {
	err = s.view(ctx, namespace, func(sp *space, _ int64) { layouts, position = sp.names(), sp.position() })
	return layouts, position, err
}

// Namespaces returns the names of all namespaces that have a file, sorted.
func (s *Store) Namespaces(ctx context.Context) (names []string, err error) {
	err = s.locked(ctx, func(d *dir) error {
		files, err := fs.ReadDir(d.FS(), ".")
		for _, file := range files {
			if name, ok := namespaceOf(file.Name()); ok {
				names = append(names, name)
			}
		}
		return err
	})
	slices.Sort(names)
	return names, err
}

// CreateNamespace implements [lease.Store].
func (s *Store) CreateNamespace(ctx context.Context, terms lease.Terms, position int64) (created bool, err error) {
	err = s.update(ctx, terms.Namespace, func(sp *space, now int64) bool {
		l := sp.layout(terms.Layout)
		if l.exists() || sp.position() > position {
			return false
		}
		l.Fingerprint, l.Fence = sp.Current, terms.At(now).NewFence
		created = true
		return true
	})
	return created && err == nil, err
}

// Probe implements [lease.Store]. If several rows are equally good, it returns the one
// with the smallest worker number.
func (s *Store) Probe(ctx context.Context, q lease.Query) (p lease.Probe, err error) {
	err = s.view(ctx, q.Terms.Namespace, func(sp *space, now int64) {
		l := sp.layout(q.Terms.Layout)
		p = lease.Probe{
			HasNamespace: l.exists(), Fence: l.Fence, Fingerprint: l.Fingerprint,
			Current: sp.Current, OneClock: true, Now: now, LastWorker: l.top(q.Min, q.Max),
		}
		p.Row, p.HasRow = leaserule.Choose(l.at(now, q.Min, q.Max), q)
		p.HasFree = p.HasRow && q.Terms.Free(p.Row)
	})
	return p, err
}

// Fence implements [lease.Store].
func (s *Store) Fence(ctx context.Context, terms lease.Terms, seen string) error {
	return s.update(ctx, terms.Namespace, func(sp *space, now int64) bool {
		l := sp.layout(terms.Layout)
		if !l.exists() || seen != "" && seen != l.Fingerprint {
			return false
		}
		l.Fingerprint, l.Fence = sp.Current, max(l.Fence, terms.At(now).RaisedFence)
		return true
	})
}

// AddRows implements [lease.Store]. Since each update writes all rows of the file, it
// adds only the row of least. A row can only be lost together with its namespace, whose
// fence is then above everything that was granted. So a new row starts in the current
// tick.
func (s *Store) AddRows(ctx context.Context, terms lease.Terms, least, _ int64) error {
	return s.update(ctx, terms.Namespace, func(sp *space, now int64) bool {
		return sp.layout(terms.Layout).add(row{Worker: least, Bound: terms.At(now).Tick})
	})
}

// Claim implements [lease.Store].
func (s *Store) Claim(ctx context.Context, c lease.Claim) (lease.Row, bool, error) {
	return s.updateRow(ctx, c.Terms, c.Seen.Worker, func(sp *space, l *layout, r *lease.Row) bool {
		return leaserule.Claim(r, leaserule.Namespace{Fingerprint: l.Fingerprint, Fence: l.Fence, Current: sp.Current}, c)
	})
}

// Renew implements [lease.Store].
func (s *Store) Renew(ctx context.Context, r lease.Renewal) (lease.Row, bool, error) {
	return s.updateRow(ctx, r.Terms, r.Held.Worker, func(_ *space, _ *layout, held *lease.Row) bool {
		return leaserule.Renew(held, false, r)
	})
}

// Release implements [lease.Store].
func (s *Store) Release(ctx context.Context, terms lease.Terms, held lease.Row, unused int64) (bool, error) {
	_, ok, err := s.updateRow(ctx, terms, held.Worker, func(_ *space, _ *layout, r *lease.Row) bool {
		return leaserule.Release(r, held, unused)
	})
	return ok, err
}

// Rows implements [lease.Store].
func (s *Store) Rows(ctx context.Context, terms lease.Terms, least, most int64) (rows []lease.Row, err error) {
	err = s.view(ctx, terms.Namespace, func(sp *space, now int64) {
		rows = sp.layout(terms.Layout).at(now, least, most)
	})
	return rows, err
}

// Examine implements [lease.Store]. It returns nothing, because a directory has no
// settings to check.
func (s *Store) Examine(context.Context) ([]lease.Finding, error) { return nil, nil }

// updateRow calls change with the row of a worker and returns the changed row, and
// whether there was a change.
func (s *Store) updateRow(ctx context.Context, terms lease.Terms, worker int64, change func(*space, *layout, *lease.Row) bool) (lease.Row, bool, error) {
	var changed lease.Row
	var ok bool
	err := s.update(ctx, terms.Namespace, func(sp *space, now int64) bool {
		l := sp.layout(terms.Layout)
		r := l.row(worker)
		if r == nil {
			return false
		}
		changed = lease.Row(*r)
		changed.Now = now
		if ok = change(sp, l, &changed); ok {
			*r = row(changed)
		}
		return ok
	})
	if err != nil || !ok {
		return lease.Row{}, false, err
	}
	return changed, true, nil
}

// view calls look with the content of a namespace and the time. Note that the content
// may not be on the disk yet if the process that wrote it was killed.
func (s *Store) view(ctx context.Context, namespace string, look func(*space, int64)) error {
	return s.locked(ctx, func(d *dir) error {
		sp, err := d.read(namespace)
		if err != nil {
			return err
		}
		look(sp, d.now)
		return nil
	})
}

// update calls change with the content of a namespace and the time. If change reports
// true, update writes the new content.
func (s *Store) update(ctx context.Context, namespace string, change func(*space, int64) bool) error {
	return s.locked(ctx, func(d *dir) error {
		sp, err := d.read(namespace)
		if err != nil || !change(sp, d.now) {
			return err
		}
		return d.write(sp)
	})
}
