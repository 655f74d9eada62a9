package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"sync/atomic"
	"time"
)

// An Issuer makes numbers, and is told which it may make.
type Issuer interface {
	// Grant begins a lease: numbers are of worker, and their counters are at
	// least start and below bound.
	Grant(worker, start, bound int64)

	// Extend raises the bound.
	Extend(bound int64)

	// Seal ends the lease, if there is one: once it returns, no number is issued.
	// It returns the first counter that was not used. Calls wait for the next
	// lease and tell reason if they cannot.
	Seal(reason error) (unused int64)

	// Explain tells why the bound is not raised; nil takes it back.
	Explain(reason error)
}

// A Keeper leases a worker number for an [Issuer] and renews it until it is
// closed. When the lease is lost it claims another.
//
// A Keeper is safe for concurrent use. [Open] makes one.
type Keeper struct {
	store  Store
	issuer Issuer
	cfg    Config
	terms  Terms

	needed atomic.Int64       // the largest end that Want was told
	wanted chan struct{}      // holds one: the issuer has reached its bound
	stop   context.CancelFunc // ends run
	done   chan struct{}      // closed when run has returned
	held   *tenancy           // of run, and of Close once run has returned
}

// maxCounter asks for all that the cap allows.
const maxCounter = 1<<63 - 1

// tenancy is one lease. It is dropped whole when it is lost.
type tenancy struct {
	row Row
	// mine are the tokens of the last confirmed update and of all that were sent
	// since: the request of any of these may have been applied, or may yet be.
	mine    map[string]bool
	inDoubt bool      // whether a request may still be under way that finds the row as it is
	renewed time.Time // when the last confirmed claim or renewal was sent
}

// Open checks cfg, claims a worker number and grants it to the issuer. It tries
// until ctx ends, as long as the store does not answer or all numbers are taken;
// the error then tells which. A [*LayoutError], [*ClockSkewError] or
// [*ConfigError] ends it at once.
func Open(ctx context.Context, store Store, issuer Issuer, cfg Config) (*Keeper, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	k := &Keeper{
		store: store, issuer: issuer, cfg: cfg, terms: cfg.terms(),
		wanted: make(chan struct{}, 1), done: make(chan struct{}),
	}
	if !cfg.SkipMigrate {
		if err := k.retry(ctx, "migrate", func(ctx context.Context) error { return store.Migrate(ctx) }); err != nil {
			return nil, err
		}
	}
	if err := k.claim(ctx); err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	k.stop = stop
	go k.run(running)
	return k, nil
}

// Want tells that numbers below end are needed and not granted. It does not
// block: the keeper renews as soon as the store can grant them.
func (k *Keeper) Want(end int64) {
	for {
		needed := k.needed.Load()
		if end <= needed || k.needed.CompareAndSwap(needed, end) {
			break
		}
	}
	select {
	case k.wanted <- struct{}{}:
	default:
	}
}

// Close seals the issuer and gives the worker number back. It returns when the
// store has confirmed that, or with an error when ctx has ended: the lease then
// expires by itself. No number is issued either way.
func (k *Keeper) Close(ctx context.Context) error {
	k.stop()
	<-k.done
	unused := k.issuer.Seal(ErrClosed)
	t := k.held
	if t == nil {
		return nil
	}
	// A caller that is shutting down has often no time left; the store needs one
	// statement or two.
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.patience())
	defer cancel()
	if t.inDoubt {
		if k.reread(grace, t); k.held == nil {
			return nil // it was lost in the meantime
		}
	}
	if t.inDoubt {
		unused = t.row.Bound // a late renewal may find the row as it was
	}
	k.held = nil
	freed, err := k.store.Release(grace, Release{Namespace: k.cfg.Namespace, Held: t.row, Unused: unused})
	if err != nil {
		return &StoreError{"release", err}
	}
	k.log().Info("lease: gave the worker back", "namespace", k.cfg.Namespace, "worker", t.row.Worker, "freed", freed)
	return nil
}

// run renews the lease, and claims another when it is lost.
func (k *Keeper) run(ctx context.Context) {
	defer close(k.done)
	for ctx.Err() == nil {
		if k.held == nil {
			if err := k.claim(ctx); err != nil {
				k.issuer.Explain(err)
				k.pause(ctx, k.patience())
				continue
			}
		}
		k.idle(ctx, k.held)
		if ctx.Err() == nil {
			k.renew(ctx, k.held)
		}
	}
}

// idle waits until the lease is due for renewal, or the issuer wants more.
func (k *Keeper) idle(ctx context.Context, t *tenancy) {
	sleep := func(until time.Time, wanted <-chan struct{}) {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-wanted:
		case <-ctx.Done():
		}
	}
	sleep(t.renewed.Add(k.cfg.Window/3), k.wanted)
	sleep(t.renewed.Add(k.untilGrantable(t)), nil)
}

// untilGrantable returns how long after its renewal a bound that is not enough
// can be raised far enough. The cap grows with the store's time and no faster:
// to ask earlier would give nothing.
func (k *Keeper) untilGrantable(t *tenancy) time.Duration {
	missing := k.needed.Swap(0) - t.row.Bound
	wait := time.Duration(max(missing, 0)/k.terms.PerTick) * k.cfg.Unit
	return min(max(wait, k.cfg.Window/100), k.cfg.Window/3)
}

// renew raises the bound of a lease. Only a confirmed renewal counts.
func (k *Keeper) renew(ctx context.Context, t *tenancy) {
	token := newToken()
	t.mine[token] = true
	sent := time.Now()
	row, renewed, err := k.tryRenew(ctx, t, token)
	switch {
	case renewed:
		k.confirm(t, row, sent)
	case err != nil:
		// The request may have been applied, or be applied later.
		t.inDoubt = true
		k.explain("renew", err)
		k.pause(ctx, k.patience()/4)
		k.reread(ctx, t)
	default:
		before := t.row.Revision
		if k.reread(ctx, t); k.held == t && t.row.Revision == before {
			k.pause(ctx, k.patience()/4) // neither lost nor renewed: do not hurry
		}
	}
}

func (k *Keeper) tryRenew(ctx context.Context, t *tenancy, token string) (Row, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, k.patience())
	defer cancel()
	return k.store.Renew(ctx, Renewal{Namespace: k.cfg.Namespace, Terms: k.terms, Held: t.row, Token: token, Wanted: maxCounter})
}

func (k *Keeper) confirm(t *tenancy, row Row, sent time.Time) {
	t.row, t.renewed = row, sent
	// The revision has moved on, and late requests name the old one.
	t.mine, t.inDoubt = map[string]bool{row.Token: true}, false
	k.issuer.Extend(row.Bound)
}

// reread learns from the row itself what has become of a renewal.
func (k *Keeper) reread(ctx context.Context, t *tenancy) {
	timely, cancel := context.WithTimeout(ctx, k.patience())
	defer cancel()
	sent := time.Now()
	rows, err := k.store.Rows(timely, k.cfg.Namespace, t.row.Worker, t.row.Worker)
	switch {
	case err != nil:
		k.explain("read", err)
	case len(rows) == 0:
		k.lose(t, "its row is gone from the store")
	case !t.mine[rows[0].Token]:
		k.lose(t, fmt.Sprintf("its row is of another process (%s), or the store has forgotten a renewal", rows[0].Label))
	case rows[0].Free():
		k.lose(t, "it expired before it could be renewed")
	case rows[0].Revision > t.row.Revision:
		k.confirm(t, rows[0], sent)
	}
}

// lose drops a lease.
func (k *Keeper) lose(t *tenancy, reason string) {
	lost := &LostError{Namespace: k.cfg.Namespace, Worker: t.row.Worker, Since: time.Now(), Reason: reason}
	k.issuer.Seal(lost)
	k.held = nil
	k.log().Error("lease: lost the worker", "namespace", lost.Namespace, "worker", lost.Worker, "reason", reason)
	if k.cfg.OnLost != nil {
		go k.cfg.OnLost(lost)
	}
}

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
		if !k.pause(ctx, 100*time.Millisecond) {
			return errors.Join(ctx.Err(), err)
		}
	}
}

func isFinal(err error) bool {
	var layout *LayoutError
	var skew *ClockSkewError
	return errors.As(err, &layout) || errors.As(err, &skew)
}

var errRace = errors.New("lease: another process was faster")

// tryClaim goes one step of the way: it founds the namespace, fences it, adds a
// row or claims one.
func (k *Keeper) tryClaim(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, k.patience())
	defer cancel()
	ns := k.cfg.Namespace
	for {
		before := k.cfg.Clock()
		query := Query{Namespace: ns, Terms: k.terms, Min: k.cfg.MinWorker, Max: k.cfg.MaxWorker}
		if k.cfg.PreferSame {
			query.Prefer = k.cfg.Label
		}
		p, err := k.store.Probe(ctx, query)
		if err != nil {
			return &StoreError{"probe", err}
		}
		if err := k.checkClock(before, k.cfg.Clock(), p.Now); err != nil {
			return err
		}
		switch {
		case !p.Founded:
			err = k.store.Found(ctx, ns, k.terms)
		case p.Layout != k.terms.Layout:
			return &LayoutError{Namespace: ns, Stored: p.Layout, Mine: k.terms.Layout}
		case p.Fingerprint != p.Current:
			k.log().Warn("lease: the database is not the one it was; ids go on behind all that may have been lost", "namespace", ns)
			// The clock of a promoted server may be behind that of the one before.
			terms := k.terms
			terms.Ahead += k.cfg.MaxClockSkew.Microseconds()
			err = k.store.Fence(ctx, ns, p.Fingerprint, terms)
		case p.Found:
			return k.take(ctx, p)
		case p.Unborn >= 0:
			err = k.store.Bear(ctx, ns, p.Unborn, k.terms)
		default:
			return k.taken(ctx)
		}
		if err != nil {
			return &StoreError{"prepare a row", err}
		}
	}
}

// take claims the row that a probe has found.
func (k *Keeper) take(ctx context.Context, p Probe) error {
	token := newToken()
	sent := time.Now()
	terms := k.terms
	if p.Volatile { // what is burned must allow for a next server whose clock is behind
		terms.Ahead += k.cfg.MaxClockSkew.Microseconds()
	}
	row, ok, err := k.store.Claim(ctx, Claim{
		Namespace: k.cfg.Namespace, Terms: terms, Seen: p.Free, Fence: p.Fence, Token: token, Label: k.cfg.Label, Wanted: maxCounter,
	})
	if err != nil {
		return &StoreError{"claim", err} // its token is never used again, so that the row expires by itself
	}
	if !ok {
		return errRace
	}
	t := &tenancy{row: row, mine: map[string]bool{token: true}, renewed: sent}
	start := max(p.Free.Bound, p.Fence)
	if p.Volatile {
		start = max(row.Bound, p.Fence) // hold-off: the claim only burns, and renewals grant
	}
	k.held = t
	k.issuer.Grant(row.Worker, start, row.Bound)
	k.log().Info("lease: leased a worker", "namespace", k.cfg.Namespace, "worker", row.Worker)
	return nil
}

func (k *Keeper) taken(ctx context.Context) error {
	e := &TakenError{Namespace: k.cfg.Namespace, Min: k.cfg.MinWorker, Max: k.cfg.MaxWorker}
	rows, err := k.store.Rows(ctx, e.Namespace, e.Min, e.Max)
	if err != nil {
		return &StoreError{"list the leases", err}
	}
	seen := map[string]bool{"": true}
	for i, r := range rows {
		if !seen[r.Label] {
			seen[r.Label] = true
			e.Holders = append(e.Holders, r.Label)
		}
		left := time.Duration(max(r.Expires-r.Now, 0)) * time.Microsecond
		if i == 0 || left < e.NextFree {
			e.NextFree = left
		}
	}
	return e
}

// checkClock compares the host's clock with the store's, which was read between
// two readings of the host's.
func (k *Keeper) checkClock(before, after time.Time, store int64) error {
	at := time.UnixMicro(store)
	if at.Before(before.Add(-k.cfg.MaxClockSkew)) || at.After(after.Add(k.cfg.MaxClockSkew)) {
		return &ClockSkewError{Host: after, Store: at, Max: k.cfg.MaxClockSkew}
	}
	return nil
}

// patience is how long one statement may take: short enough that a second one
// finds the lease alive.
func (k *Keeper) patience() time.Duration { return k.cfg.Window / 4 }

func (k *Keeper) explain(op string, err error) { k.issuer.Explain(&StoreError{op, err}) }

// pause waits for about d, longer or shorter by chance, so that processes that
// failed together do not try together. It reports false if ctx ended it.
func (k *Keeper) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d/2 + mathrand.N(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// retry calls f until it succeeds or ctx ends.
func (k *Keeper) retry(ctx context.Context, op string, f func(context.Context) error) error {
	for {
		timely, cancel := context.WithTimeout(ctx, k.patience())
		err := f(timely)
		cancel()
		if err == nil {
			return nil
		}
		if !k.pause(ctx, 100*time.Millisecond) {
			return errors.Join(ctx.Err(), &StoreError{op, err})
		}
	}
}

func (k *Keeper) log() *slog.Logger {
	if k.cfg.Logger != nil {
		return k.cfg.Logger
	}
	return slog.Default()
}

// newToken returns 128 random bits as text.
func newToken() string { return rand.Text() }
