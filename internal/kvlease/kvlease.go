// Package kvlease implements [lease.Store] over any storage that can compare and set
// texts: each call reads, computes what changes, and swaps, where the swap compares what
// was read.
//
// # The time of the read
//
// A statement of SQL reads the clock when it is executed. Here, a change is computed with
// the store's time of the read, and it may be executed much later. This is safe for these
// reasons, which lease/model checks:
//
//   - A claim or renewal raises the bound to a lower value, and the lease expires earlier
//     than if it had been computed later. The invariants of package lease allow both.
//   - A renewal of a lease that has expired since the read succeeds if no other process
//     has the row. If another process had it and its commits were lost, then the
//     fingerprint has changed since the read, so the swap fails, or leases hold off. With a
//     hold-off, the other lease started above the cap of a time after this one expired.
//   - A new row, a new layout or a fence must be above everything that may be lost, so an
//     early time is not good enough. But between the read and the swap, no row or layout
//     can have been added, used and deleted: each change of this kind replaces the
//     namespace's mark, which is random, and compares the one that it read. A namespace
//     without a mark first gets one, because otherwise it could itself have been created
//     and deleted in the meantime. Rows that exist have a bound of their own.
//   - A hold-off ends above the cap of the time of the reply, which the keeper knows.
package kvlease

import (
	"context"
	cryptorand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/lease"
)

// A Backend keeps texts: one for each namespace, and one for each row. Its methods return
// the errors that [lease.Store] names.
type Backend interface {
	// Read reads the namespace's text and those of the workers from min to max. It may return
	// more.
	Read(ctx context.Context, terms lease.Terms, min, max int64) (View, error)

	// Swap changes texts and reports true, if all of them still have the values that v has,
	// and if the fingerprint is the same as in v. Otherwise, it must not change anything
	// that a later Read returns, and reports false. It may also report false if another
	// attempt may succeed, or return an error if it can't tell. The new texts are by worker,
	// as in v. One that equals the old text is only compared. If grants is set, the swap may
	// grant ids.
	Swap(ctx context.Context, v View, grants bool, texts map[int64]string) (bool, error)
}

// A View is what a Backend has read at one point in time.
type View struct {
	Terms    lease.Terms               // those of the call, with Skew rounded up to the precision of Now
	Now      int64                     // the store's time, not later than the read
	Current  string                    // the fingerprint of the store
	Volatile bool                      // see [lease.Probe]
	Texts    map[int64]string          // by worker; OfNamespace has the namespace's text; "" if there is none
	Where    func(worker int64) string // what to call a text in an error
	Ref      any                       // what else Swap needs
}

// OfNamespace stands for a worker where a namespace's text is meant.
const OfNamespace = -1

// Await returns what call returns, unless ctx ends first. In that case, call goes on in the
// background. It is for clients that can't take a request back.
func Await[T any](ctx context.Context, call func() (T, error)) (none T, _ error) {
	if err := ctx.Err(); err != nil {
		return none, err
	}
	var value T
	var err error
	done := make(chan struct{})
	go func() {
		value, err = call()
		close(done)
	}()
	select {
	case <-done:
		return value, err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// Explain adds the name of a store's package to an error of the client. If remedies has one
// for it, it becomes permanent, because a retry can't fix it.
func Explain(store string, err error, remedies map[error]string) error {
	wrapped := fmt.Errorf("%s: %w", store, err)
	for of, remedy := range remedies {
		if errors.Is(err, of) {
			return &lease.PermanentError{Err: wrapped, Remedy: remedy}
		}
	}
	return wrapped
}

// A Store implements the methods of [lease.Store], except Migrate.
type Store struct {
	Backend Backend
	AtOnce  int64 // how many rows AddRows adds

	// OneHost is set if all processes run on the store's host, and if the store loses a
	// row only together with its namespace. Probes then choose the smallest worker number.
	OneHost bool

	// Pinned is set if the store can't compare the fingerprint in a swap, but only in the
	// reply. A late swap may then renew a lease of another database. So a lease ends when
	// the fingerprint changes.
	Pinned bool
}

// A namespace is the text of a namespace.
type namespace struct {
	Version int               `json:"version"` // of the protocol
	Mark    string            `json:"mark"`    // random; new whenever the text changes
	Next    int64             `json:"next"`    // the position of the next layout
	Layouts map[string]layout `json:"layouts"`
}

// A layout is one of a [namespace]. It is listed when it gets its first row, and has no
// fingerprint before it is created.
type layout struct {
	Fingerprint string `json:"fingerprint"` // when it was created or fenced
	Fence       int64  `json:"fence"`
}

// A row is the text of a row.
type row struct {
	Version     int    `json:"version"`
	Token       string `json:"token"`
	Revision    int64  `json:"revision"`
	Bound       int64  `json:"bound"`
	Expires     int64  `json:"expires_at"` // microseconds since 1970
	Label       string `json:"label"`
	Fingerprint string `json:"fingerprint,omitempty"` // when it was claimed, if leases are pinned
}

// A content is a View whose texts are decoded, and what a call writes.
type content struct {
	View
	namespace namespace
	rows      []lease.Row      // ordered by worker
	claimed   string           // the fingerprint when the last of rows was claimed, if leases are pinned
	written   map[int64]string // new texts, by worker
}

func (s *Store) read(ctx context.Context, terms lease.Terms, least, most int64) (*content, error) {
	v, err := s.Backend.Read(ctx, terms, least, most)
	if err != nil {
		return nil, err
	}
	c := &content{View: v, written: make(map[int64]string)}
	if err := v.decode(OfNamespace, &c.namespace, &c.namespace.Version); err != nil {
		return nil, err
	}
	if c.namespace.Layouts == nil { // there is no text, or somebody has written null
		c.namespace.Layouts = make(map[string]layout)
	}
	for _, worker := range slices.Sorted(maps.Keys(v.Texts)) {
		if worker < least || worker > most || v.Texts[worker] == "" {
			continue
		}
		var r row
		if err := v.decode(worker, &r, &r.Version); err != nil {
			return nil, err
		}
		c.claimed = r.Fingerprint
		c.rows = append(c.rows, lease.Row{Worker: worker, Token: r.Token, Revision: r.Revision, Bound: r.Bound,
			Expires: r.Expires, Label: r.Label, Now: v.Now})
	}
	return c, nil
}

// decode decodes the text of a worker. If there is none, it leaves into unchanged.
func (v View) decode(worker int64, into any, version *int) error {
	text := v.Texts[worker]
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return &lease.PermanentError{
			Err:    fmt.Errorf("lease: %s has the text %.100q, which is not one of Snowkey's: %w", v.Where(worker), text, err),
			Remedy: "find out which program changed it, and restore it; if nothing else helps, delete it, after which ids continue above everything that it can have granted",
		}
	}
	if *version != protocol.Version {
		return &lease.VersionError{Where: v.Where(worker), Found: strconv.Itoa(*version)}
	}
	return nil
}

// Encode returns the JSON of a value that stores keep. Each of them can be represented.
func Encode(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

// layout returns the layout of the call, and whether it was created.
func (c *content) layout() (l layout, created bool) {
	l = c.namespace.Layouts[c.Terms.Layout]
	return l, l.Fingerprint != ""
}

// write changes the text of a row, which was claimed under a fingerprint, or "".
func (c *content) write(r lease.Row, fingerprint string) {
	c.written[r.Worker] = Encode(row{protocol.Version, r.Token, r.Revision, r.Bound, r.Expires, r.Label, fingerprint})
	if _, listed := c.namespace.Layouts[c.Terms.Layout]; !listed {
		c.list(layout{})
	}
}

// list changes the namespace's text, in which the layout of the call is now l.
func (c *content) list(l layout) {
	c.namespace.Layouts[c.Terms.Layout] = l
	c.mark()
}

// mark changes the namespace's text to what c.namespace is now, with a new mark.
func (c *content) mark() {
	c.namespace.Version, c.namespace.Mark = protocol.Version, cryptorand.Text()
	c.written[OfNamespace] = Encode(c.namespace)
}

// attempts is how often a call reads and swaps if the swap fails.
const attempts = 16

// update reads, calls compute and swaps what it has written, until that succeeds or compute
// writes nothing. Each swap also compares the namespace's text. If it has no mark yet,
// update adds one first.
func (s *Store) update(ctx context.Context, terms lease.Terms, least, most int64, grants bool, compute func(*content)) error {
	for range attempts {
		c, err := s.read(ctx, terms, least, most)
		if err != nil {
			return err
		}
		marked := c.namespace.Mark != ""
		compute(c)
		if len(c.written) == 0 {
			return nil
		}
		if !marked {
			c.namespace = namespace{Layouts: make(map[string]layout)}
			clear(c.written)
			c.mark()
		}
		if c.written[OfNamespace] == "" {
			c.written[OfNamespace] = c.Texts[OfNamespace]
		}
		if done, err := s.Backend.Swap(ctx, c.View, grants, c.written); done && marked || err != nil {
			return err
		}
	}
	return fmt.Errorf("lease: other processes changed namespace %q each of the %d times that this one was about to; try again", terms.Namespace, attempts)
}

// Layouts implements [lease.Store].
func (s *Store) Layouts(ctx context.Context, name string) (layouts []string, position int64, err error) {
	c, err := s.read(ctx, lease.Terms{Namespace: name}, 0, -1)
	if err != nil {
		return nil, 0, err
	}
	return slices.Sorted(maps.Keys(c.namespace.Layouts)), c.namespace.Next, nil
}

// CreateNamespace implements [lease.Store].
func (s *Store) CreateNamespace(ctx context.Context, terms lease.Terms, position int64) (created bool, err error) {
	err = s.update(ctx, terms, 0, -1, true, func(c *content) {
		_, exists := c.layout()
		if created = !exists && c.namespace.Next <= position; created {
			c.namespace.Next = position + 1
			c.list(layout{c.Current, c.Terms.At(c.Now).NewFence})
		}
	})
	return created && err == nil, err
}

// Fence implements [lease.Store].
func (s *Store) Fence(ctx context.Context, terms lease.Terms, seen string) error {
	return s.update(ctx, terms, 0, -1, false, func(c *content) {
		if l, exists := c.layout(); exists && (seen == "" || seen == l.Fingerprint) {
			c.list(layout{c.Current, max(l.Fence, c.Terms.At(c.Now).RaisedFence)})
		}
	})
}

// AddRows implements [lease.Store]. It adds up to AtOnce rows.
func (s *Store) AddRows(ctx context.Context, terms lease.Terms, least, most int64) error {
	most = min(most, least+max(s.AtOnce, 1)-1)
	return s.update(ctx, terms, least, most, false, func(c *content) {
		limits := c.Terms.At(c.Now)
		bound := limits.RaisedFence
		if _, exists := c.layout(); s.OneHost {
			bound = limits.Tick // the fence of the next namespace is above everything in this one
		} else if !exists {
			bound = limits.NewFence
		}
		for worker := least; worker <= most; worker++ {
			if c.Texts[worker] == "" {
				c.write(lease.Row{Worker: worker, Bound: bound}, "")
			}
		}
		if len(c.written) > 0 {
			c.mark()
		}
	})
}

// Near returns the range of the few rows that a probe reads first, at a random place of the
// number that a namespace usually has.
func Near(q lease.Query) (least, most int64) {
	const few, usual = 32, 1024
	least = q.Min + rand.Int64N(max(min(q.Max-q.Min+1, usual)-few, 0)+1)
	return least, min(least+few-1, q.Max)
}

// Probe implements [lease.Store].
func (s *Store) Probe(ctx context.Context, q lease.Query) (lease.Probe, error) {
	if !s.OneHost && !q.Waiting && q.PreferWorker < 0 && q.PreferLabel == "" {
		near := q
		near.Min, near.Max = Near(q)
		p, err := s.probe(ctx, near)
		if p.HasFree && p.Row.Bound < q.Terms.At(p.Now).Cap || err != nil {
			return p, err
		}
	}
	return s.probe(ctx, q)
}

func (s *Store) probe(ctx context.Context, q lease.Query) (lease.Probe, error) {
	c, err := s.read(ctx, q.Terms, q.Min, q.Max)
	if err != nil {
		return lease.Probe{}, err
	}
	q.Terms = c.Terms
	l, exists := c.layout()
	p := lease.Probe{
		HasNamespace: exists, Fence: l.Fence, Fingerprint: l.Fingerprint, Current: c.Current,
		Volatile: c.Volatile, OneClock: s.OneHost, Now: c.Now, LastWorker: q.Min - 1,
	}
	if n := len(c.rows); n > 0 {
		p.LastWorker = c.rows[n-1].Worker
	}
	if !s.OneHost {
		rand.Shuffle(len(c.rows), func(i, j int) { c.rows[i], c.rows[j] = c.rows[j], c.rows[i] })
	}
	found := false
	p.Row, found = Choose(c.rows, q)
	p.HasFree = found && q.Terms.Free(p.Row)
	return p, nil
}

// updateRow calls change with the row of a worker, and returns the changed row and whether
// there was a change.
func (s *Store) updateRow(
	ctx context.Context, terms lease.Terms, worker int64, grants bool, change func(*content, *lease.Row) bool,
) (r lease.Row, ok bool, err error) {
	err = s.update(ctx, terms, worker, worker, grants, func(c *content) {
		r, ok = lease.Row{}, len(c.rows) == 1
		if ok {
			r = c.rows[0]
			ok = change(c, &r)
		}
		switch {
		case ok && s.Pinned:
			c.write(r, c.Current)
		case ok:
			c.write(r, "")
		}
	})
	if err != nil || !ok {
		return lease.Row{}, false, err
	}
	return r, true, nil
}

// Examine implements [lease.Store]. It returns nothing, because a [Backend] has no settings
// unless its store has an Examine of its own.
func (*Store) Examine(ctx context.Context) ([]lease.Finding, error) { return nil, ctx.Err() }

// Rows implements [lease.Store].
func (s *Store) Rows(ctx context.Context, terms lease.Terms, least, most int64) ([]lease.Row, error) {
	c, err := s.read(ctx, terms, least, most)
	if err != nil {
		return nil, err
	}
	return c.rows, nil
}
