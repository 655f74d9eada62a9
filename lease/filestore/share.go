package filestore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	mathrand "math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/lease"
)

// Share returns a store whose leases are those of store, but which the processes of a
// host pass on to each other through files in the directory at path. A process that
// starts continues the lease of one that has ended, even if that one was killed, without
// a request to store. Use it for processes that live briefly. See "Sharing leases" in
// the package documentation.
//
// Pass the same path to all processes of the host. The directory need not exist yet, and
// need not survive a reboot, so one in /run or /dev/shm is best. All processes must have
// the same Window, TTL and MaxClockSkew.
//
// The store is safe for concurrent use. It shares nothing, and is otherwise the same as
// store, on systems other than Linux and for layouts with ticks longer than a second.
func Share(path string, store lease.Store) lease.Store {
	return &shared{Store: store, files: Dir(path), held: make(map[string]*holding)}
}

// A shared is the store that Share returns. It inherits the methods that need no change.
type shared struct {
	lease.Store
	files  *Store
	broken rules

	mu     sync.Mutex
	held   map[string]*holding // the leases of this process, by token
	failed error               // set if a file may show a lease that this process continues
}

// rules are what a test leaves out, to show that it would notice. See share_test.go.
type rules struct {
	ignoreLock  bool // continue a lease that another process has
	grantBefore bool // grant counters that the file does not show as granted
	grantBeyond bool // grant counters that the store has not confirmed
	keepRecord  bool // leave the lease in the file while a renewal is sent
	trustCopies bool // continue a lease that is in a copy of a file
}

// A holding is a file that this process has locked, and the lease in it.
type holding struct {
	file    *os.File
	window  int64 // how long the next grant lasts, in microseconds
	claimed bool
	record
}

// A record is the content of a file: a lease, and which of its counters were
// granted to the processes of this host so far. An empty file has no lease.
type record struct {
	File      string `json:"file"` // the boot of the machine, and the identity of the file
	Namespace string `json:"namespace"`
	Layout    string `json:"layout"`
	Worker    int64  `json:"worker"`
	Token     string `json:"token"`
	Revision  int64  `json:"revision"`
	Start     int64  `json:"start"`     // where the lease from the store started
	Confirmed int64  `json:"confirmed"` // the bound in the store's last answer
	Granted   int64  `json:"granted"`   // the first counter that no process of this host was granted
	Renewed   int64  `json:"renewed"`   // the host's time, in microseconds, when the answered request was sent
	Offset    int64  `json:"offset"`    // the store's time minus the host's at that answer
	Volatile  bool   `json:"volatile"`  // see lease.Renewal
}

// firstWindow is how long the first grant of a process lasts, in microseconds. Each later
// one lasts two times as long, up to Window. If a process is killed, the next one starts
// after its last grant.
const firstWindow = 250_000

// sharedSuffix is the end of the names of files that share leases.
const sharedSuffix = ".shared"

func shares(terms lease.Terms) bool { return bootID() != "" && !terms.Coarse() }

// Probe implements [lease.Store]. It looks for a lease that a process of this host has
// left, and asks the store if there is none. If all worker numbers are in use, leases of
// this host may be left at any moment, so it looks for a while first.
func (s *shared) Probe(ctx context.Context, q lease.Query) (lease.Probe, error) {
	if !shares(q.Terms) {
		return s.Store.Probe(ctx, q)
	}
	for began := time.Now(); ; {
		h, err := s.left(q)
		if err != nil {
			return lease.Probe{}, err
		}
		if h != nil {
			now := s.files.now() + h.Offset
			row := lease.Row{Worker: h.Worker, Token: h.Token, Revision: h.Revision, Bound: h.Granted, Now: now}
			s.keep(h)
			return lease.Probe{HasNamespace: true, Now: now, LastWorker: q.Max, Row: row, HasRow: true, HasFree: true}, nil
		}
		if !q.Waiting || time.Since(began) > time.Second {
			return s.Store.Probe(ctx, q)
		}
		select {
		case <-time.After(50*time.Millisecond + mathrand.N(50*time.Millisecond)):
		case <-ctx.Done():
			return lease.Probe{}, fmt.Errorf("filestore: %w", context.Cause(ctx))
		}
	}
}

// Claim implements [lease.Store].
func (s *shared) Claim(ctx context.Context, c lease.Claim) (lease.Row, bool, error) {
	if h := s.take(c.Seen.Token); h != nil {
		return s.extend(ctx, h, lease.Renewal{Terms: c.Terms, Held: c.Seen, Token: c.Token, Wanted: c.Wanted}, lasts(c.Terms))
	}
	sent := s.files.now()
	row, ok, err := s.Store.Claim(ctx, c)
	if err != nil || !ok || !shares(c.Terms) {
		return row, ok, err
	}
	start := max(c.Seen.Bound, c.Fence)
	if c.Volatile {
		start = row.Bound // hold-off: only renewals grant ids
	}
	return s.begin(c.Terms, row, start, sent, c.Wanted, c.Volatile)
}

// Renew implements [lease.Store]. It sends nothing to the store if the store's last
// answer is recent and covers the next grant.
func (s *shared) Renew(ctx context.Context, r lease.Renewal) (lease.Row, bool, error) {
	if h := s.take(r.Held.Token); h != nil {
		return s.extend(ctx, h, r, window(r.Terms)/3)
	}
	sent := s.files.now()
	row, ok, err := s.Store.Renew(ctx, r)
	if err != nil || !ok || !shares(r.Terms) {
		return row, ok, err
	}
	return s.begin(r.Terms, row, r.Held.Bound, sent, r.Wanted, r.Volatile)
}

// Release implements [lease.Store]. It leaves the lease to the next process. If there is
// none, the lease expires.
func (s *shared) Release(ctx context.Context, terms lease.Terms, held lease.Row, unused int64) (bool, error) {
	h := s.take(held.Token)
	if h == nil {
		return s.Store.Release(ctx, terms, held, unused)
	}
	h.Granted = min(h.Granted, unused)
	err := s.write(h)
	return err == nil, errors.Join(err, h.file.Close())
}

// window returns Config.Window in microseconds.
func window(terms lease.Terms) int64 { return max(terms.Ahead-terms.Skew, firstWindow) }

// lasts returns for how long after a renewal, in microseconds, processes continue a lease
// without another one. The rest of Window is for a process that lives longer: its keeper
// needs time to renew.
func lasts(terms lease.Terms) int64 { return window(terms) * 2 / 3 }

// extend grants more of the lease h to this process. It first renews the lease in the
// store if the last renewal is older than most, or does not cover the grant.
func (s *shared) extend(ctx context.Context, h *holding, r lease.Renewal, most int64) (lease.Row, bool, error) {
	age := s.files.now() - h.Renewed
	if age >= 0 && age < most && h.end(r.Terms, s.files.now(), r.Wanted) <= h.Confirmed {
		return s.grant(h, r.Terms, r.Wanted)
	}
	// This process may continue the lease even if the answer is lost. So from now on no
	// other process may find it in the file.
	if !s.broken.keepRecord {
		if err := h.file.Truncate(0); err != nil {
			s.keep(h)
			return lease.Row{}, false, &DirError{s.files.path, err}
		}
	}
	r.Held.Token, r.Held.Revision, r.Volatile = h.Token, h.Revision, h.Volatile
	sent := s.files.now()
	row, ok, err := s.Store.Renew(ctx, r)
	if err != nil || !ok {
		return row, ok, errors.Join(err, h.file.Close())
	}
	h.answered(row, sent, s.files.now())
	return s.grant(h, r.Terms, r.Wanted)
}

// begin grants a part of a lease that is in no file yet, from start on. The row is the
// store's answer to a request that was sent at the given time of the host.
func (s *shared) begin(terms lease.Terms, row lease.Row, start, sent, wanted int64, volatile bool) (lease.Row, bool, error) {
	h, err := s.spare(terms)
	if err != nil {
		return lease.Row{}, false, err
	}
	h.record = record{Namespace: terms.Namespace, Layout: terms.Layout, Worker: row.Worker, Start: start, Granted: start, Volatile: volatile}
	h.answered(row, sent, s.files.now())
	return s.grant(h, terms, wanted)
}

func (h *holding) answered(row lease.Row, sent, now int64) {
	h.Token, h.Revision, h.Confirmed, h.Renewed, h.Offset = row.Token, row.Revision, row.Bound, sent, row.Now-now
}

// end returns the bound of the next grant if the store's bound does not limit it. A keeper
// that needs more than the counters of now wants a bound that is as far above these as
// the cap is above now.
func (h *holding) end(terms lease.Terms, now, wanted int64) int64 {
	limits := terms.At(now + h.Offset)
	needed := max(limits.Tick, wanted-(limits.Cap-limits.Tick))
	return needed + (h.window/terms.Unit+1)*terms.PerTick
}

// grant writes the next grant to the file and then returns it to the keeper.
func (s *shared) grant(h *holding, terms lease.Terms, wanted int64) (lease.Row, bool, error) {
	now := s.files.now()
	bound := h.end(terms, now, wanted)
	if !s.broken.grantBeyond {
		bound = min(bound, h.Confirmed)
	}
	bound = max(h.Granted, bound)
	h.window = min(2*h.window, window(terms))
	if !s.broken.grantBefore {
		h.Granted = bound
	}
	if err := s.write(h); err != nil {
		return lease.Row{}, false, errors.Join(err, h.file.Close())
	}
	h.claimed = true
	s.keep(h)
	return lease.Row{Worker: h.Worker, Token: h.Token, Revision: h.Revision, Bound: bound, Expires: h.Renewed + h.Offset + terms.TTL, Now: now + h.Offset}, true, nil
}

// left returns a lease that another process of this host has left, with its file locked,
// or nil if there is none. It prefers the one that was renewed last, so that those that the
// host no longer needs expire.
func (s *shared) left(q lease.Query) (*holding, error) {
	now := s.files.now()
	const soon = 1_000_000 // how far ahead of the time the next counter may be, unless no worker number is free
	// A lease of a new or fenced namespace starts ahead of the time, and so would others.
	at := func(h *holding, ahead int64) int64 {
		return max(q.Terms.At(now+h.Offset).Tick, h.Start) + ahead/q.Terms.Unit*q.Terms.PerTick
	}
	s.forget(q.Terms)
	all, err := s.open(q.Terms.Namespace)
	usable := func(h *holding) bool {
		return h.Token != "" && h.Layout == q.Terms.Layout && q.Min <= h.Worker && h.Worker <= q.Max && now-h.Renewed < q.Terms.TTL &&
			(q.Waiting || h.Granted <= at(h, soon))
	}
	ready := func(h *holding) int64 {
		if h.Granted <= at(h, 0) && now-h.Renewed < lasts(q.Terms) {
			return h.Renewed
		}
		return -h.Granted
	}
	slices.SortFunc(all, func(a, b *holding) int {
		return cmp.Or(cmp.Compare(ready(b), ready(a)), cmp.Compare(a.Worker, b.Worker))
	})
	return s.lockFirst(all, usable), err
}

// lockFirst locks and returns the first of the files that is usable, or nil if none is.
// It closes the others. A file may have changed before it was locked.
func (s *shared) lockFirst(all []*holding, usable func(*holding) bool) (found *holding) {
	for _, h := range all {
		if found == nil && usable(h) && s.lock(h) && usable(h) {
			found = h
		} else {
			h.file.Close()
		}
	}
	return found
}

// spare returns a locked file without a lease that another process could still use.
func (s *shared) spare(terms lease.Terms) (*holding, error) {
	all, err := s.open(terms.Namespace)
	if err != nil {
		return nil, err
	}
	free := func(h *holding) bool { return h.Token == "" || s.files.now()-h.Renewed >= terms.TTL }
	if h := s.lockFirst(all, free); h != nil {
		return h, nil
	}
	if err := makeDir(s.files.path); err != nil {
		return nil, &DirError{s.files.path, err}
	}
	root, err := os.OpenRoot(s.files.path)
	if err != nil {
		return nil, &DirError{s.files.path, err}
	}
	defer root.Close()
	for {
		file, err := root.OpenFile(sharedPrefix(terms.Namespace)+rand.Text()+sharedSuffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return nil, &DirError{s.files.path, err}
		}
		if h := (&holding{file: file, window: firstWindow}); s.lock(h) {
			return h, nil
		}
		file.Close() // another process was faster to lock it
	}
}

// open opens the files of a namespace and reads what is in them. The caller must close
// them.
func (s *shared) open(namespace string) (all []*holding, err error) {
	root, err := os.OpenRoot(s.files.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &DirError{s.files.path, err}
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), sharedPrefix(namespace)) || !strings.HasSuffix(e.Name(), sharedSuffix) {
			continue
		}
		var file *os.File
		if file, err = root.OpenFile(e.Name(), os.O_RDWR, 0); err != nil {
			break
		}
		h := &holding{file: file, window: firstWindow}
		h.read(s.broken.trustCopies)
		all = append(all, h)
	}
	if err != nil {
		for _, h := range all {
			h.file.Close()
		}
		return nil, &DirError{s.files.path, err}
	}
	return all, nil
}

func sharedPrefix(namespace string) string {
	return strings.TrimSuffix(fileName(namespace), suffix) + "."
}

// lock locks the file of h until it is closed, or until the process ends, and reads it
// again. It reports false if another process has it locked.
func (s *shared) lock(h *holding) bool {
	if ok, err := tryLock(h.file); (!ok || err != nil) && !s.broken.ignoreLock {
		return false
	}
	h.read(s.broken.trustCopies)
	return true
}

// read reads the record of a file. The record is empty if the file is empty, is a copy, or
// is of an earlier boot. It is also empty if a process was killed while it wrote the file.
func (h *holding) read(trustCopies bool) {
	h.record = record{}
	text := make([]byte, 4096)
	n, _ := h.file.ReadAt(text, 0)
	first, rest, _ := bytes.Cut(text[:n], []byte("\n"))
	var sum uint32
	if _, err := fmt.Sscanf(string(first), "%08x", &sum); err != nil || sum != crc32.ChecksumIEEE(rest) {
		return
	}
	var r record
	id, err := h.identity()
	if json.Unmarshal(rest, &r) == nil && err == nil && (r.File == id || trustCopies) {
		h.record = r
	}
}

// write writes the record of h. If it returns an error, the file has no lease.
func (s *shared) write(h *holding) (err error) {
	s.mu.Lock()
	failed := s.failed
	s.mu.Unlock()
	if failed != nil {
		return failed
	}
	if h.File, err = h.identity(); err == nil {
		err = h.overwrite()
	}
	if err == nil {
		return nil
	}
	err = &DirError{s.files.path, err}
	if h.file.Truncate(0) != nil {
		s.mu.Lock()
		s.failed = err
		s.mu.Unlock()
	}
	return err
}

func (h *holding) overwrite() error {
	body, err := json.Marshal(h.record)
	if err != nil {
		return err
	}
	if err := h.file.Truncate(0); err != nil {
		return err
	}
	_, err = h.file.WriteAt(append(fmt.Appendf(nil, "%08x\n", crc32.ChecksumIEEE(body)), body...), 0)
	return err
}

func (h *holding) identity() (string, error) {
	id, err := identity(h.file)
	return bootID() + " " + id, err
}

func (s *shared) keep(h *holding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[h.Token] = h
}

func (s *shared) take(token string) *holding {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.held[token]
	delete(s.held, token)
	return h
}

// forget closes the files that an earlier probe has found, but which were not claimed.
func (s *shared) forget(terms lease.Terms) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for token, h := range s.held {
		if !h.claimed && h.Namespace == terms.Namespace && h.Layout == terms.Layout {
			delete(s.held, token)
			h.file.Close()
		}
	}
}
