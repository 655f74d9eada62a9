package filestore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"time"

	"github.com/snowkey-go/snowkey/internal/leaserule"
	"github.com/snowkey-go/snowkey/lease"
)

// A Shared lets the processes of one host share leases. Use [Share] to create one.
//
// A Shared is safe for concurrent use, also by many processes.
type Shared struct {
	files *Store
	store lease.Store
	rules rules
}

// rules are the rules that a test breaks to see that it would notice. See
// shared_test.go.
type rules struct {
	ignoreBound bool // grant counters at or above the bound that the store confirmed
	ignoreOwner bool // let a process record a grant although another one has its row
	lowerBound  bool // let the release of a process lower the bound in the store
	trustRead   bool // grant a bound that was only read
	keepCopies  bool // use the leases in a copy of the file
}

var _ lease.Store = (*Shared)(nil)

// firstWindow is how long the first grant of a process lasts. The grants grow while the
// process lives, up to Window. If a process is killed early, only a short grant is lost.
const firstWindow = time.Second

// Share returns a store whose leases are those of store, but which the processes of a
// host pass on to each other through files in the directory at path. A process that
// starts takes over a worker number that another process of the host has left, without a
// request to store. Use it for processes that live briefly: the requests to store no
// longer depend on how many processes start. See "Sharing leases" in the package
// documentation.
//
// Pass the same path to all processes of the host, and use the same namespace, layout,
// Window and MaxClockSkew as the processes that lease from store directly.
// The files need not survive a reboot, so a directory such as /run is best.
// Layouts with ticks longer than a second can't be shared: all methods that lease return
// a [*lease.PermanentError] for them.
func Share(path string, store lease.Store) *Shared {
	files := Dir(path)
	s := &Shared{files: files, store: store}
	files.shared = &s.rules
	return s
}

// Migrate migrates the shared store. The directory needs no migration: Probe creates it
// if it does not exist.
func (s *Shared) Migrate(ctx context.Context) error { return s.store.Migrate(ctx) }

// Layouts implements [lease.Store].
func (s *Shared) Layouts(ctx context.Context, namespace string) ([]string, int64, error) {
	return s.store.Layouts(ctx, namespace)
}

// CreateNamespace implements [lease.Store].
func (s *Shared) CreateNamespace(ctx context.Context, terms lease.Terms, position int64) (bool, error) {
	return s.store.CreateNamespace(ctx, terms, position)
}

// Fence implements [lease.Store]. It affects the leases that the host claims from now
// on. To discard the leases that it has, end its processes and remove the directory.
func (s *Shared) Fence(ctx context.Context, terms lease.Terms, seen string) error {
	return s.store.Fence(ctx, terms, seen)
}

// AddRows implements [lease.Store].
func (s *Shared) AddRows(ctx context.Context, terms lease.Terms, least, most int64) error {
	return s.store.AddRows(ctx, terms, least, most)
}

// Examine implements [lease.Store].
func (s *Shared) Examine(ctx context.Context) ([]lease.Finding, error) { return s.store.Examine(ctx) }

// Probe implements [lease.Store]. It returns a row that a process of this host has left,
// if there is one, and else what the shared store returns.
func (s *Shared) Probe(ctx context.Context, q lease.Query) (p lease.Probe, err error) {
	if q.Terms.Coarse() {
		return p, &lease.PermanentError{
			Err:    fmt.Errorf("filestore: a tick of the layout %s is longer than a second, so its leases cannot be shared", q.Terms.Layout),
			Remedy: "lease from the store without Share, or use a layout with shorter ticks",
		}
	}
	p, err = s.own(ctx, q, q.Waiting)
	if errors.Is(err, lease.ErrNotMigrated) { // a directory in memory is missing after each boot
		if err = s.files.Migrate(ctx); err == nil {
			p, err = s.own(ctx, q, q.Waiting)
		}
	}
	if err != nil || p.HasFree {
		return p, err
	}
	// All worker numbers are in use, but one of this host may become free at any time. So
	// a process that waits looks at the file often, and at the store from time to time.
	if q.Waiting && p.HasRow && mathrand.IntN(10) > 0 {
		return p, nil
	}
	p, err = s.store.Probe(ctx, q)
	p.OneClock = false // because the other calls need the Skew of terms
	if err != nil || !p.HasNamespace || p.Fingerprint != p.Current || p.HasFree && p.Row.Bound <= q.Terms.At(p.Now+soon).Tick {
		return p, err
	}
	// The store has no row that is better than one of this host whose bound is ahead.
	if own, err := s.own(ctx, q, true); err != nil || own.HasFree {
		return own, err
	}
	return p, nil
}

// own returns a free row of this host, and reserves it for a moment, so that other
// processes choose other rows. If there is none, it returns the row that becomes free
// first. It uses rows whose bound is ahead of the time only if ahead is set.
func (s *Shared) own(ctx context.Context, q lease.Query, ahead bool) (p lease.Probe, err error) {
	const moment = 500_000 // in microseconds; long, because the host may be busy
	err = s.files.update(ctx, q.Terms.Namespace, func(sp *space, now int64) bool {
		l := sp.layout(q.Terms.Layout)
		now += l.Offset
		p = lease.Probe{HasNamespace: true, Now: now, LastWorker: q.Max}
		var ready, due []lease.Row
		for _, r := range l.at(now, q.Min, q.Max) {
			h := l.Host[r.Worker]
			if h == nil || h.Expires < now {
				continue
			}
			if !p.HasRow || r.Expires < p.Row.Expires {
				p.Row, p.HasRow = r, true
			}
			switch {
			case !here(q.Terms).Free(r) || now < h.Reserved && h.Reserved <= now+moment:
			case !ahead && r.Bound > q.Terms.At(now+soon).Tick:
			case h.renewFirst(q.Terms, r):
				due = append(due, r)
			default:
				ready = append(ready, r)
			}
		}
		p.Row.Expires = now - q.Terms.Skew // so that a process that waits looks again soon
		local := q
		local.Terms, local.Waiting = here(q.Terms), false
		for _, rows := range [][]lease.Row{ready, due} {
			mathrand.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			if row, found := leaserule.Choose(rows, local); found {
				p.Row, p.HasRow, p.HasFree = row, true, true
				l.Host[row.Worker].Reserved = now + moment
				break
			}
		}
		return p.HasFree
	})
	return p, err
}

// soon is how far the bound of a row may be ahead of the time, in microseconds, before
// Probe prefers another row.
const soon = 100_000

// here returns terms for the leases in the file. The host has only one clock.
func here(terms lease.Terms) lease.Terms {
	terms.Skew = 0
	return terms
}

// window returns Config.Window in microseconds.
func window(terms lease.Terms) int64 { return max(terms.Ahead-terms.Skew, 1) }

// renewFirst reports whether the host's lease must be renewed before a process takes over
// r, because what is left would last only briefly.
func (h *hostLease) renewFirst(terms lease.Terms, r lease.Row) bool {
	return h.Bound < terms.At(max(r.Now, timeOf(terms, r.Bound))+firstWindow.Microseconds()).Tick
}

// timeOf returns the time of a counter, in microseconds since 1970.
func timeOf(terms lease.Terms, counter int64) int64 {
	return terms.Epoch + counter/terms.PerTick*terms.Unit
}

// due reports whether the lease is due for renewal.
func (h *hostLease) due(terms lease.Terms, now int64) bool {
	return now-h.Renewed >= window(terms)/3
}

// grant returns terms for a grant to the process that has r. It lasts for one window of
// the lease h, which is shorter than Config.Window at first. If the bound of r is ahead of
// the time, the grant begins there.
func (h *hostLease) grant(terms lease.Terms, r lease.Row) lease.Terms {
	ttl := float64(terms.TTL) / float64(window(terms))
	terms = here(terms)
	terms.Ahead = max(timeOf(terms, r.Bound)-r.Now, 0) + h.Window
	terms.TTL = int64(ttl * float64(h.Window))
	return terms
}

// limit returns the bound to grant if a process wants the counters below wanted.
func (s *Shared) limit(h *hostLease, wanted int64) int64 {
	if s.rules.ignoreBound {
		return wanted
	}
	return min(wanted, h.Bound)
}

// Claim implements [lease.Store]. If the host has the lease of the row, the process
// takes it over. Otherwise it claims the row in the shared store for the host.
func (s *Shared) Claim(ctx context.Context, c lease.Claim) (row lease.Row, ok bool, err error) {
	hosts, due := false, false
	err = s.update(ctx, c.Terms, c.Seen.Worker, func(l *layout, r *lease.Row, h *hostLease) bool {
		if hosts = h != nil && h.Expires >= r.Now; !hosts {
			if r.Token != "" && r.Expires >= r.Now {
				return false // another process of this host is claiming the row
			}
			// From now on the row belongs to this process, so that no other one can record
			// a grant.
			delete(l.Host, r.Worker)
			r.Token, r.Label, r.Expires = c.Token, c.Label, r.Now+firstWindow.Microseconds()
			r.Revision++
			ok = true
			return true
		}
		h.Window = min(firstWindow.Microseconds(), window(c.Terms))
		local := c
		local.Terms, local.Wanted = h.grant(c.Terms, *r), s.limit(h, c.Wanted)
		due = h.renewFirst(c.Terms, *r)
		ok = leaserule.Claim(r, leaserule.Namespace{Fingerprint: "file", Current: "file", Fence: c.Fence}, local)
		row = *r
		return ok
	})
	switch {
	case err != nil || !ok:
		return lease.Row{}, false, err
	case due:
		return s.Renew(ctx, lease.Renewal{Terms: c.Terms, Held: row, Token: c.Token, Wanted: c.Wanted})
	case hosts:
		return row, true, nil
	}
	claimed, ok, err := s.store.Claim(ctx, c)
	if err != nil || !ok {
		return lease.Row{}, false, err
	}
	start := max(c.Seen.Bound, c.Fence)
	if c.Volatile {
		start = claimed.Bound // hold-off: only renewals grant ids
	}
	return s.record(ctx, c.Terms, claimed, c.Token, c.Token, start, c.Volatile)
}

// record records that the store has answered a write, and grants a part of the answer,
// from start on, to the process that has the row in the file. It reports false if
// that's another process by now. token is the token to write into the row.
func (s *Shared) record(ctx context.Context, terms lease.Terms, confirmed lease.Row, owner, token string, start int64, volatile bool) (row lease.Row, ok bool, err error) {
	err = s.update(ctx, terms, confirmed.Worker, func(l *layout, r *lease.Row, h *hostLease) bool {
		if (r.Token != owner || h != nil) && !s.rules.ignoreOwner {
			return false
		}
		now := r.Now - l.Offset
		l.Offset = confirmed.Now - now
		r.Now = confirmed.Now
		h = &hostLease{Volatile: volatile, Window: min(firstWindow.Microseconds(), window(terms))}
		h.answered(confirmed)
		if l.Host == nil {
			l.Host = make(map[int64]*hostLease)
		}
		l.Host[r.Worker] = h
		r.Token, r.Bound = token, start
		short := h.grant(terms, *r)
		r.Bound = max(start, s.limit(h, short.At(r.Now).Cap))
		r.Expires = r.Now + short.TTL
		row, ok = *r, true
		return true
	})
	return row, ok && err == nil, err
}

// answered sets what the store has answered to a claim or renewal of the host's lease.
func (h *hostLease) answered(row lease.Row) {
	h.Token, h.Pending, h.Revision = row.Token, "", row.Revision
	h.Bound, h.Expires, h.Renewed = row.Bound, row.Expires, row.Now
}

// Renew implements [lease.Store]. It grants a part of the host's lease, and renews that
// lease if it is due.
func (s *Shared) Renew(ctx context.Context, r lease.Renewal) (row lease.Row, ok bool, err error) {
	owner, hosts := false, false
	err = s.files.view(ctx, r.Terms.Namespace, func(sp *space, _ int64) {
		l := sp.layout(r.Terms.Layout)
		held := l.row(r.Held.Worker)
		owner = held != nil && held.Token == r.Held.Token
		hosts = l.Host[r.Held.Worker] != nil
	})
	switch {
	case err != nil || !owner && !s.rules.ignoreOwner:
		return lease.Row{}, false, err
	case !hosts:
		// The store has executed the claim of this process, but the file doesn't show it
		// yet. The answer to the renewal is the first that grants ids.
		confirmed, ok, err := s.store.Renew(ctx, r)
		if err != nil || !ok {
			return lease.Row{}, false, err
		}
		return s.record(ctx, r.Terms, confirmed, r.Held.Token, r.Token, r.Held.Bound, r.Volatile)
	}
	row, due, ok, err := s.extend(ctx, r)
	if err != nil || !ok || !due {
		return row, ok, err
	}
	// If there is something to issue in the meantime, it must not wait for the store.
	granted := row.Bound > r.Held.Bound
	timely, cancel := ctx, func() {}
	if granted {
		timely, cancel = context.WithTimeout(ctx, s.patience(row))
	}
	defer cancel()
	if err := s.renewHost(timely, r); err != nil {
		if granted {
			return row, true, nil
		}
		return lease.Row{}, false, err
	}
	r.Held = row
	row, _, ok, err = s.extend(ctx, r)
	return row, ok, err
}

// patience returns how long a renewal that has granted row may wait for the store.
func (s *Shared) patience(row lease.Row) time.Duration {
	return time.Duration(row.Expires-row.Now) * time.Microsecond / 6
}

// extend extends the lease of a process without a request to the store. It also reports
// whether the host's lease is due for renewal.
func (s *Shared) extend(ctx context.Context, r lease.Renewal) (row lease.Row, due, ok bool, err error) {
	err = s.update(ctx, r.Terms, r.Held.Worker, func(_ *layout, held *lease.Row, h *hostLease) bool {
		if h == nil {
			return false
		}
		h.Window = min(2*h.Window, window(r.Terms))
		due = h.due(r.Terms, held.Now) || h.renewFirst(r.Terms, *held) || h.Bound <= held.Bound
		local := r
		local.Terms, local.Wanted = h.grant(r.Terms, *held), s.limit(h, r.Wanted)
		ok = leaserule.Renew(held, false, local)
		row = *held
		return ok
	})
	if err != nil || !ok {
		return lease.Row{}, false, false, err
	}
	return row, due, true, nil
}

// renewHost renews the host's lease of r's worker number. It runs without the lock,
// because the store may take long. If several processes of the host renew at the same
// time, they send the same token, so the store executes only one of the renewals.
func (s *Shared) renewHost(ctx context.Context, r lease.Renewal) error {
	worker := r.Held.Worker
	var sent hostLease
	err := s.update(ctx, r.Terms, worker, func(_ *layout, held *lease.Row, h *hostLease) bool {
		if h == nil {
			return false
		}
		h.Pending = cmp.Or(h.Pending, fmt.Sprintf("%s%x", rand.Text(), held.Now))
		sent = *h
		r.Wanted = max(r.Wanted, r.Terms.At(held.Now).Cap)
		return true
	})
	if err != nil || sent.Pending == "" {
		return err
	}
	r.Token, r.Volatile = sent.Pending, sent.Volatile
	r.Held = lease.Row{Worker: worker, Token: sent.Token, Revision: sent.Revision, Bound: sent.Bound}
	confirmed, ok, err := s.store.Renew(ctx, r)
	if err != nil {
		return err
	}
	var found lease.Row
	if !ok {
		rows, err := s.store.Rows(ctx, r.Terms, worker, worker)
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			found = rows[0]
		}
		if len(rows) > 0 && found.Revision < sent.Revision { // the store was restored from an older dump
			if err := s.store.Fence(ctx, r.Terms, ""); err != nil {
				return err
			}
		}
	}
	return s.update(ctx, r.Terms, worker, func(l *layout, held *lease.Row, h *hostLease) bool {
		switch {
		case h == nil || h.Revision != sent.Revision || h.Token != sent.Token:
			return false // another process has recorded an answer
		case ok:
			l.Offset += confirmed.Now - held.Now
			h.answered(confirmed)
		case found.Token == sent.Pending:
			// An earlier renewal was executed. Its bound was only read, so it isn't granted
			// before the next renewal, which is due now.
			h.Token, h.Pending, h.Revision, h.Renewed = found.Token, "", found.Revision, 0
			if s.rules.trustRead {
				h.Bound = found.Bound
			}
		default:
			delete(l.Host, worker) // the host has lost the lease
		}
		return true
	})
}

// Release implements [lease.Store]. The host keeps its lease for the next process, and
// renews it if it is due.
func (s *Shared) Release(ctx context.Context, terms lease.Terms, held lease.Row, unused int64) (ok bool, err error) {
	hosts, due := false, false
	err = s.update(ctx, terms, held.Worker, func(_ *layout, r *lease.Row, h *hostLease) bool {
		if hosts = h != nil; !hosts {
			return false
		}
		due = h.due(terms, r.Now)
		ok = leaserule.Release(r, held, unused)
		return ok
	})
	switch {
	case err != nil:
		return false, err
	case !hosts:
		// The bound stays as it is, because other processes of the host may have been
		// granted counters that this one does not know of.
		if !s.rules.lowerBound {
			unused = math.MaxInt64
		}
		return s.store.Release(ctx, terms, held, unused)
	case ok && due:
		_ = s.renewHost(ctx, lease.Renewal{Terms: terms, Held: held}) // if that fails, the next process renews
	}
	return ok, nil
}

// Rows implements [lease.Store]. It returns the rows of the shared store, and in place of
// those that the host has leased its own.
func (s *Shared) Rows(ctx context.Context, terms lease.Terms, least, most int64) (rows []lease.Row, err error) {
	own, leased := make(map[int64]lease.Row), make(map[int64]bool)
	err = s.files.view(ctx, terms.Namespace, func(sp *space, now int64) {
		l := sp.layout(terms.Layout)
		for _, r := range l.at(now+l.Offset, least, most) {
			own[r.Worker], leased[r.Worker] = r, l.Host[r.Worker] != nil
		}
	})
	if err != nil {
		return nil, err
	}
	if least == most && leased[least] {
		return []lease.Row{own[least]}, nil
	}
	rows, err = s.store.Rows(ctx, terms, least, most)
	for i, r := range rows {
		if own, ok := own[r.Worker]; ok && leased[r.Worker] {
			rows[i] = own
		} else if ok && own.Token != r.Token {
			// The revisions of the file and of the store are not related. If the file has
			// the larger one, that doesn't mean that the store has lost commits.
			rows[i].Revision = max(r.Revision, own.Revision)
		}
	}
	return rows, err
}

// update calls change with the row and the host's lease of a worker, which is nil if the
// host has none. If change reports true, update writes the file. If there is no row, it
// adds one. The row's Now is the store's time, as far as the host knows it.
func (s *Shared) update(ctx context.Context, terms lease.Terms, worker int64, change func(*layout, *lease.Row, *hostLease) bool) error {
	return s.files.update(ctx, terms.Namespace, func(sp *space, now int64) bool {
		l := sp.layout(terms.Layout)
		l.add(row{Worker: worker})
		r := l.row(worker)
		r.Now = now + l.Offset
		changed := lease.Row(*r)
		ok := change(l, &changed, l.Host[worker])
		*r = row(changed)
		return ok
	})
}
