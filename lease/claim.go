package lease

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"maps"
	"math/rand/v2"
	"strconv"
	"time"
)

// maxCounter asks for all that the cap allows.
const maxCounter = 1<<63 - 1

// newToken returns 128 random bits as text, and the time: a machine that was
// cloned may draw the same bits as its clone.
func newToken() string { return cryptorand.Text() + strconv.FormatInt(time.Now().UnixNano(), 36) }

// claim leases a worker number. It pauses and tries again until ctx ends, but
// for errors that time does not mend.
func (k *Keeper) claim(ctx context.Context) error {
	for {
		err := k.tryClaim(ctx)
		if err == nil {
			return nil
		}
		if isFinal(err) {
			return err
		}
		k.issuer.Explain(err)
		if err != errRace {
			k.warn(err)
		}
		if !k.pause(ctx, 100*time.Millisecond) {
			return errors.Join(ctx.Err(), err)
		}
	}
}

func isFinal(err error) bool {
	var layout *LayoutError
	var skew *ClockSkewError
	var volatile *VolatileError
	return errors.As(err, &layout) || errors.As(err, &skew) || errors.As(err, &volatile)
}

var errRace = errors.New("lease: another process was faster")

// tryClaim goes the way to a lease step by step, as the state of the store
// demands: it founds the namespace, fences it, adds a row, claims one.
func (k *Keeper) tryClaim(ctx context.Context) error {
	ctx, done := k.inTime(ctx)
	defer done()
	again, err := k.settle(ctx)
	if k.held != nil || err != nil {
		return err
	}
	for {
		query := Query{Terms: k.terms, Min: k.cfg.MinWorker, Max: k.cfg.MaxWorker}
		if k.cfg.PreferSame {
			query.Prefer = k.cfg.Label
		}
		sent := k.clocks.read()
		p, err := k.store.Probe(ctx, query)
		if err != nil {
			return &StoreError{"probe", err}
		}
		if err := k.clocks.check(sent, p.Now); err != nil {
			return err
		}
		if p.OneClock {
			k.terms.Skew = 0
		}
		if again != nil && again.Bound < k.terms.Cap(p.Now) {
			p.Free, p.Found = *again, true
		}
		switch {
		case p.Volatile && k.terms.Coarse():
			return &VolatileError{Namespace: k.cfg.Namespace, Unit: k.cfg.Unit}
		case !p.Founded:
			err = k.found(ctx, p.Now)
		case p.Fingerprint != p.Current:
			k.log().Warn("lease: the database is not the one it was; numbers go on behind all that may have been lost", "namespace", k.cfg.Namespace)
			err = k.store.Fence(ctx, k.terms, p.Fingerprint)
		case p.Found && p.Free.Worker >= p.Born: // the namespace was lost, its row was not
			err = k.store.Bear(ctx, k.terms, p.Free.Worker, p.Free.Worker)
		case p.Found && p.Free.Bound < k.terms.Cap(p.Now):
			return k.take(ctx, p)
		case p.Born <= k.cfg.MaxWorker:
			err = k.store.Bear(ctx, k.terms, k.cfg.MinWorker, k.cfg.MaxWorker)
		case p.Found:
			return k.take(ctx, p)
		default:
			err = k.replace(ctx)
		}
		if _, ok := errors.AsType[*TakenError](err); ok || isFinal(err) {
			return err
		}
		if err != nil {
			return &StoreError{"prepare a row", err}
		}
	}
}

// found adds the layout to the namespace, if none of those that are there makes
// numbers that are equal to those that it makes from now on.
func (k *Keeper) found(ctx context.Context, now int64) error {
	layouts, err := k.store.Layouts(ctx, k.cfg.Namespace)
	if err != nil {
		return err
	}
	for _, stored := range layouts {
		if stored == k.terms.Layout {
			continue
		}
		if err := k.cfg.Compatible(stored, time.UnixMicro(now)); err != nil {
			return &LayoutError{Namespace: k.cfg.Namespace, Stored: stored, Mine: k.terms.Layout, Err: err}
		}
	}
	return k.store.Found(ctx, k.terms, len(layouts))
}

// take claims the row that a probe has found.
func (k *Keeper) take(ctx context.Context, p Probe) error {
	c := Claim{Terms: k.terms, Seen: p.Free, Fence: p.Fence, Token: newToken(), Label: k.cfg.Label}
	t := &tenancy{
		row:   Row{Worker: p.Free.Worker, Now: p.Now},
		start: max(p.Free.Bound, p.Fence), burnt: p.Volatile,
		mine: map[string]bool{c.Token: true}, renewed: k.clocks.read().at,
	}
	if u := k.unsure; u != nil && u.row.Worker == t.row.Worker { // whichever is applied
		t.start = max(t.start, u.start)
		maps.Copy(t.mine, u.mine)
	}
	c.Wanted = k.asked(t, max(t.start, k.terms.Counter(k.clocks.now().UnixMicro())))
	if p.Volatile { // burn all that the store can have granted, before a server whose clock is behind
		c.Wanted = maxCounter
		c.Terms.Ahead += k.terms.Skew
	}
	row, ok, err := k.store.Claim(ctx, c)
	switch {
	case err != nil:
		k.unsure = t
		return &StoreError{"claim", err}
	case !ok:
		return errRace
	}
	k.hold(t, row)
	return nil
}

// settle reads the row of a claim that had no reply. If it carries the token of
// that claim, the lease is held as if the reply had come. If the row is free, the
// claim may be under way, and that row is to be claimed again, so that only one of
// the two can have it: if it were another row, the first would be taken for nobody
// until it expired.
func (k *Keeper) settle(ctx context.Context) (again *Row, err error) {
	t := k.unsure
	if t == nil {
		return nil, nil
	}
	rows, err := k.store.Rows(ctx, k.terms, t.row.Worker, t.row.Worker)
	switch {
	case err != nil:
		return nil, &StoreError{"read", err}
	case len(rows) == 1 && k.terms.Free(rows[0]):
		return &rows[0], nil
	case len(rows) == 0 || !t.mine[rows[0].Token]:
		k.unsure = nil // it is of another process
	case rows[0].Expires >= rows[0].Now:
		k.hold(t, rows[0])
	}
	return nil, nil
}

// hold begins a lease of a row that carries the token of its claim.
func (k *Keeper) hold(t *tenancy, row Row) {
	t.row, t.mine = row, map[string]bool{row.Token: true}
	if t.burnt {
		t.start = max(t.start, row.Bound) // hold-off: the claim only burns, and renewals grant
	}
	k.held, k.unsure, k.warned = t, nil, false
	k.issuer.Grant(row.Worker, t.start, row.Bound)
	k.announce(t)
	k.log().Info("lease: leased a worker", "namespace", k.cfg.Namespace, "worker", row.Worker)
}

// replace adds a row for a worker that has lost its own. If none has, all
// workers are taken.
func (k *Keeper) replace(ctx context.Context) error {
	rows, err := k.store.Rows(ctx, k.terms, k.cfg.MinWorker, k.cfg.MaxWorker)
	if err != nil {
		return err
	}
	there := make(map[int64]bool, len(rows))
	for _, r := range rows {
		there[r.Worker] = true
	}
	n := k.cfg.MaxWorker - k.cfg.MinWorker + 1
	if int64(len(there)) == n {
		return k.taken(rows)
	}
	worker := k.cfg.MinWorker + rand.Int64N(n)
	for there[worker] {
		if worker++; worker > k.cfg.MaxWorker {
			worker = k.cfg.MinWorker
		}
	}
	return k.store.Replace(ctx, k.terms, worker)
}

// taken says who has the workers.
func (k *Keeper) taken(rows []Row) *TakenError {
	e := &TakenError{Namespace: k.cfg.Namespace, Min: k.cfg.MinWorker, Max: k.cfg.MaxWorker}
	seen := map[string]bool{"": true}
	for i, r := range rows {
		if !seen[r.Label] {
			seen[r.Label] = true
			e.Holders = append(e.Holders, r.Label)
		}
		left := time.Duration(max(r.Expires+k.terms.Skew-r.Now, 0)) * time.Microsecond
		if i == 0 || left < e.NextFree {
			e.NextFree = left
		}
	}
	return e
}
