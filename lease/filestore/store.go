package filestore

import (
	"context"
	"encoding/json"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/snowkey-go/snowkey/internal/kvlease"
	"github.com/snowkey-go/snowkey/lease"
)

// A Store keeps leases in the files of a directory. Use [Dir] to create one; the zero Store
// isn't valid.
//
// A Store is safe for concurrent use, by any number of processes. It doesn't keep files
// open between calls. If ctx ends while another process has the lock, the call returns an
// error and has no effect.
type Store struct {
	engine
	path  string
	mode  fs.FileMode      // of the directory
	clock func() time.Time // read under the lock
}

type engine = kvlease.Store

var _ lease.Store = (*Store)(nil)

// An Option changes a setting of [Dir].
type Option func(*Store)

// Mode sets the permissions of the files and, if Migrate creates it, of the directory
// (files don't get the execute bits). Defaults to 0700. Use 0770 to share the directory
// within a group: calls will then accept a directory that belongs to another user and is
// writable by its group. Include [fs.ModeSetgid] to give new files the group of the
// directory.
func Mode(mode fs.FileMode) Option { return func(s *Store) { s.mode = mode } }

// Dir returns a store in the directory at path, which doesn't have to exist yet.
func Dir(path string, options ...Option) *Store {
	if abs, err := filepath.Abs(path); path != "" && err == nil {
		path = abs // because the program may change its working directory
	}
	s := &Store{path: path, mode: 0o700, clock: time.Now}
	// Each update writes all rows of a namespace, so they are added one at a time.
	s.engine = kvlease.Store{Backend: backend{s}, AtOnce: 1, OneHost: true}
	for _, set := range options {
		set(s)
	}
	return s
}

// Migrate creates the directory if it doesn't exist. It also cleans up unfinished files.
func (s *Store) Migrate(ctx context.Context) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	if err := makeDir(s.path, s.mode); err != nil {
		return s.explain(err)
	}
	return s.locked(ctx, (*dir).tidy)
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

// A backend gives package kvlease the texts in the store's files.
type backend struct{ *Store }

// A space is the content of a namespace's file.
type space struct {
	Namespace string                               `json:"namespace"`
	File      string                               `json:"file"`           // the identity of the file that the space was written to
	Current   string                               `json:"fingerprint"`    // of the namespace; changes when the file is found to be a copy
	Layouts   json.RawMessage                      `json:"layouts"`        // the namespace's text
	Rows      map[string]map[int64]json.RawMessage `json:"rows,omitempty"` // by layout and worker
}

// text returns the text of a worker, or that of the namespace, or "".
func (sp *space) text(layout string, worker int64) string {
	if worker == kvlease.OfNamespace {
		return string(sp.Layouts)
	}
	return string(sp.Rows[layout][worker])
}

func (sp *space) set(layout string, worker int64, text string) {
	switch {
	case worker == kvlease.OfNamespace:
		sp.Layouts = json.RawMessage(text)
		return
	case sp.Rows == nil:
		sp.Rows = make(map[string]map[int64]json.RawMessage)
		fallthrough
	case sp.Rows[layout] == nil:
		sp.Rows[layout] = make(map[int64]json.RawMessage)
	}
	sp.Rows[layout][worker] = json.RawMessage(text)
}

// Read implements [kvlease.Backend]. Note that the content may not be on the disk yet if
// the process that wrote it was killed.
func (b backend) Read(ctx context.Context, terms lease.Terms, _, _ int64) (v kvlease.View, err error) {
	err = b.locked(ctx, func(d *dir) error {
		sp, err := d.read(terms.Namespace)
		if err != nil {
			return err
		}
		v = kvlease.View{
			Terms: terms, Now: d.now, Current: sp.Current, Texts: map[int64]string{kvlease.OfNamespace: string(sp.Layouts)},
			Where: func(int64) string { return "the file " + filepath.Join(b.path, fileName(terms.Namespace)) },
		}
		for worker, text := range sp.Rows[terms.Layout] {
			v.Texts[worker] = string(text)
		}
		return nil
	})
	return v, err
}

// Swap implements [kvlease.Backend].
func (b backend) Swap(ctx context.Context, v kvlease.View, _ bool, texts map[int64]string) (done bool, err error) {
	err = b.locked(ctx, func(d *dir) error {
		sp, err := d.read(v.Terms.Namespace)
		if err != nil || sp.Current != v.Current {
			return err
		}
		for worker, text := range texts {
			if sp.text(v.Terms.Layout, worker) != v.Texts[worker] {
				return nil
			}
			sp.set(v.Terms.Layout, worker, text)
		}
		done = true
		return d.write(sp)
	})
	return done && err == nil, err
}
