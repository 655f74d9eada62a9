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
	// Layouts returns the layouts of a namespace that have rows, in any order.
	Layouts(ctx context.Context, namespace string) ([]string, error)

	// Read reads the namespace's text and those of the workers from min to max.
	Read(ctx context.Context, terms lease.Terms, min, max int64) (View, error)

	// Swap writes the texts and reports true, if all items still have the values that v
	// has, and if the fingerprint is the same as in v. Otherwise, it must not change
	// anything that a later Read returns, and reports false. It may also report false if
	// another attempt may succeed, or return an error if it can't tell. If grants is set,
	// the swap may grant ids.
	Swap(ctx context.Context, v View, grants bool, changes ...Change) (bool, error)
}

// A View is what a Backend has read at one point in time.
type View struct {
	Terms     lease.Terms // those of the call, with Skew rounded up to the precision of Now
	Now       int64       // the store's time, not later than the read
	Current   string      // the fingerprint of the store
	Volatile  bool        // see [lease.Probe]
	Namespace Item
	Rows      []Item // those that exist, ordered by worker
	Ref       any    // what else Swap needs
}

// An Item is a text, or one that does not exist.
type Item struct {
	Worker int64  // of a row; OfNamespace for the namespace's text
	Value  string // "" if there is none
	Where  string // what to call it in an error
}

// OfNamespace is the Worker of a namespace's item.
const OfNamespace = -1

// A Change is the new value of an item. If it equals the old one, it is only compared.
type Change struct {
	Item
	New string
}

// Await returns what call returns, unless ctx ends first. In that case, call goes on in the
// background. It is for clients that can't take a request back.
func Await[T any](ctx context.Context, call func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	done := make(chan result, 1)
	go func() {
		value, err := call()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
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

// A Namespace is the text of a namespace.
type Namespace struct {
	Version int               `json:"version"` // of the protocol
	Mark    string            `json:"mark"`    // random; new whenever the text changes
	Next    int64             `json:"next"`    // the position of the next layout
	Layouts map[string]Layout `json:"layouts"`
}

// A Layout is a layout of a [Namespace].
type Layout struct {
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

// content is a View whose texts are decoded.
type content struct {
	View
	namespace Namespace
	rows      []lease.Row
	items     map[int64]Item // by worker
	claimed   string         // the fingerprint when the last of rows was claimed, if leases are pinned
}

func (s *Store) read(ctx context.Context, terms lease.Terms, least, most int64) (c content, err error) {
	if c.View, err = s.Backend.Read(ctx, terms, least, most); err != nil {
		return c, err
	}
	c.namespace.Layouts, c.items = make(map[string]Layout), make(map[int64]Item, len(c.Rows))
	if err := decode(c.Namespace, &c.namespace, &c.namespace.Version); err != nil {
		return c, err
	}
	for _, item := range c.Rows {
		var r row
		if err := decode(item, &r, &r.Version); err != nil {
			return c, err
		}
		c.items[item.Worker], c.claimed = item, r.Fingerprint
		c.rows = append(c.rows, lease.Row{Worker: item.Worker, Token: r.Token, Revision: r.Revision, Bound: r.Bound,
			Expires: r.Expires, Label: r.Label, Now: c.Now})
	}
	return c, nil
}

// decode decodes an item. If it has no value, decode leaves into unchanged.
func decode(item Item, into any, version *int) error {
	if item.Value == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(item.Value), into); err != nil {
		return &lease.PermanentError{
			Err:    fmt.Errorf("lease: %s has the text %.100q, which is not one of Snowkey's: %w", item.Where, item.Value, err),
			Remedy: "find out which program changed it, and restore it; if nothing else helps, delete it, after which ids continue above everything that it can have granted",
		}
	}
	if *version != protocol.Version {
		return &lease.VersionError{Where: item.Where, Found: strconv.Itoa(*version)}
	}
	return nil
}

// Encode returns the JSON of a value that stores keep.
func Encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // none has anything that JSON can't represent
	}
	return string(text)
}

// encodeRow returns the text of a row that was claimed under a fingerprint, or "".
func encodeRow(r lease.Row, fingerprint string) string {
	return Encode(row{protocol.Version, r.Token, r.Revision, r.Bound, r.Expires, r.Label, fingerprint})
}

// attempts is how often a call reads and swaps if the swap fails.
const attempts = 16

// update reads, calls compute and swaps what it returns, until that succeeds or compute
// returns nothing. Each swap also compares the namespace's text. If it has no mark yet,
// update adds one first.
func (s *Store) update(ctx context.Context, terms lease.Terms, least, most int64, grants bool, compute func(*content) []Change) error {
	for range attempts {
		c, err := s.read(ctx, terms, least, most)
		if err != nil {
			return err
		}
		marked := c.namespace.Mark != ""
		changes := compute(&c)
		switch {
		case len(changes) == 0:
			return nil
		case !marked:
			c.namespace = Namespace{Layouts: make(map[string]Layout)}
			changes = []Change{c.marked()}
		case changes[0].Worker != OfNamespace:
			changes = append(changes, Change{c.Namespace, c.Namespace.Value})
		}
		if done, err := s.Backend.Swap(ctx, c.View, grants, changes...); done && marked || err != nil {
			return err
		}
	}
	return fmt.Errorf("lease: other processes changed namespace %q each of the %d times that this one was about to; try again", terms.Namespace, attempts)
}

// marked returns the change of the namespace's text to what c.namespace is now, with a
// new mark.
func (c *content) marked() Change {
	c.namespace.Version, c.namespace.Mark = protocol.Version, cryptorand.Text()
	return Change{c.Namespace, Encode(c.namespace)}
}

// Layouts implements [lease.Store].
func (s *Store) Layouts(ctx context.Context, name string) (layouts []string, position int64, err error) {
	c, err := s.read(ctx, lease.Terms{Namespace: name}, 0, -1)
	if err != nil {
		return nil, 0, err
	}
	layouts, err = s.Backend.Layouts(ctx, name)
	layouts = slices.AppendSeq(layouts, maps.Keys(c.namespace.Layouts))
	slices.Sort(layouts)
	return slices.Compact(layouts), c.namespace.Next, err
}

// CreateNamespace implements [lease.Store].
func (s *Store) CreateNamespace(ctx context.Context, terms lease.Terms, position int64) (created bool, err error) {
	err = s.update(ctx, terms, 0, -1, true, func(c *content) []Change {
		n := &c.namespace
		if _, exists := n.Layouts[terms.Layout]; exists || n.Next > position {
			created = false
			return nil
		}
		created = true
		n.Layouts[terms.Layout], n.Next = Layout{c.Current, c.Terms.At(c.Now).NewFence}, position+1
		return []Change{c.marked()}
	})
	return created && err == nil, err
}

// Fence implements [lease.Store].
func (s *Store) Fence(ctx context.Context, terms lease.Terms, seen string) error {
	return s.update(ctx, terms, 0, -1, false, func(c *content) []Change {
		l, exists := c.namespace.Layouts[terms.Layout]
		if !exists || seen != "" && seen != l.Fingerprint {
			return nil
		}
		c.namespace.Layouts[terms.Layout] = Layout{c.Current, max(l.Fence, c.Terms.At(c.Now).RaisedFence)}
		return []Change{c.marked()}
	})
}

// AddRows implements [lease.Store]. It adds up to AtOnce rows.
func (s *Store) AddRows(ctx context.Context, terms lease.Terms, least, most int64) error {
	most = min(most, least+max(s.AtOnce, 1)-1)
	return s.update(ctx, terms, least, most, false, func(c *content) []Change {
		limits := c.Terms.At(c.Now)
		bound := limits.RaisedFence
		if _, exists := c.namespace.Layouts[terms.Layout]; s.OneHost {
			bound = limits.Tick // the fence of the next namespace is above everything in this one
		} else if !exists {
			bound = limits.NewFence
		}
		var added []Change
		for worker := least; worker <= most; worker++ {
			if _, exists := c.items[worker]; !exists {
				added = append(added, Change{Item{Worker: worker}, encodeRow(lease.Row{Bound: bound}, "")})
			}
		}
		if len(added) == 0 {
			return nil
		}
		return append([]Change{c.marked()}, added...)
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
	l, exists := c.namespace.Layouts[q.Terms.Layout]
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

// Claim implements [lease.Store].
func (s *Store) Claim(ctx context.Context, claim lease.Claim) (lease.Row, bool, error) {
	return s.updateRow(ctx, claim.Terms, claim.Seen.Worker, true, func(c *content, r *lease.Row) bool {
		claim.Terms = c.Terms
		return c.claim(r, claim)
	})
}

// Renew implements [lease.Store].
func (s *Store) Renew(ctx context.Context, r lease.Renewal) (lease.Row, bool, error) {
	return s.updateRow(ctx, r.Terms, r.Held.Worker, true, func(c *content, held *lease.Row) bool {
		r.Terms = c.Terms
		return (!s.Pinned || c.claimed == c.Current) && c.renew(held, r)
	})
}

// Release implements [lease.Store].
func (s *Store) Release(ctx context.Context, terms lease.Terms, held lease.Row, unused int64) (bool, error) {
	_, ok, err := s.updateRow(ctx, terms, held.Worker, false, func(_ *content, r *lease.Row) bool {
		return release(r, held, unused)
	})
	return ok, err
}

// updateRow calls change with the row of a worker, and returns the changed row and whether
// there was a change.
func (s *Store) updateRow(ctx context.Context, terms lease.Terms, worker int64, grants bool, change func(*content, *lease.Row) bool) (r lease.Row, ok bool, err error) {
	err = s.update(ctx, terms, worker, worker, grants, func(c *content) []Change {
		if ok = len(c.rows) == 1; !ok {
			return nil
		}
		if r = c.rows[0]; !change(c, &r) {
			ok = false
			return nil
		}
		fingerprint := ""
		if s.Pinned {
			fingerprint = c.Current
		}
		return []Change{{c.items[worker], encodeRow(r, fingerprint)}}
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
	return c.rows, err
}
