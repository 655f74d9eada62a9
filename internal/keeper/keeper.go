// Package keeper leases worker numbers from a [lease.Store] and renews them, implementing
// the state machine of the protocol described in package lease. Programs use it through
// package snowkey.
package keeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/internal/leased"
	"github.com/snowkey-go/snowkey/lease"
)

// A Config has the settings of a keeper, all of which must be set, except OnLost. The
// fields have the same meaning as those of snowkey.Config.
type Config struct {
	lease.Terms // Ahead is Window and MaxClockSkew

	MinWorker, MaxWorker int64
	Label                string
	PreferSame           bool
	MaxBlocked           time.Duration
	SkipMigrate          bool
	OnLost               func(*lease.LostError)
	Logger               *slog.Logger
	Clock                func() time.Time

	// Compatible is called if the namespace already has another layout, whose text is
	// passed as stored. It returns nil if no id that this layout makes at or after from
	// can be equal to any id of the stored layout.
	Compatible func(stored string, from time.Time) error
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

func (cfg Config) window() time.Duration { return micros(cfg.Ahead - cfg.Skew) }
func (cfg Config) skew() time.Duration   { return micros(cfg.Skew) }
func (cfg Config) ttl() time.Duration    { return micros(cfg.TTL) }

// A keeper leases a worker number for an issuer and renews the lease until the keeper
// is closed. If the lease is lost, it claims another one. A keeper is safe for
// concurrent use.
type keeper struct {
	store  lease.Store
	issuer leased.Issuer
	cfg    Config
	terms  lease.Terms
	clocks clocks

	needed atomic.Int64  // the largest end passed to Want since the last renewal
	soon   chan struct{} // buffered to 1; receives a value if we need to renew before the renewal is due

	life    context.Context    // ends with Close
	endLife context.CancelFunc // ends life
	turn    sync.Mutex         // held by Resume, Suspend and Close
	stop    context.CancelFunc // ends run; nil while the keeper is suspended or closed

	unreserve func() // gives back what is reserved, if anything

	// Owned by run while it is running, otherwise by the holder of turn.
	granted chan struct{} // closed when the first id may be issued
	done    chan struct{} // closed when run has returned
	held    *heldLease
	search
	trouble

	counting sync.Mutex
	counted  leased.Stats // guarded by counting
}

// A search is what an attempt to claim knows from earlier ones.
type search struct {
	unsure     *heldLease        // the lease of the last claim, if the store didn't reply to it
	lastWorker int64             // the worker number held last; -1 before the first
	regressed  bool              // whether the store has lost commits, so that we must raise the fence before the next claim
	taken      *lease.TakenError // lists the holders while all worker numbers are in use, otherwise nil
	takenAt    time.Time         // when the holders were read
	looks      int               // how many probes in a row found no namespace or no free row
}

// A trouble is why ids have stopped or may stop, so that it is reported once.
type trouble struct {
	stopped bool   // whether ids have stopped because of a lease that was lost or not renewed
	warned  string // the last reason we logged for having no lease or no ids
	failed  error  // an error of the renewals since the last one that succeeded; nil if there was none
	gaveUp  int    // how many calls in a row timed out
}

// A heldLease is the state of one lease. It is discarded when the lease is lost.
type heldLease struct {
	seen  lease.Row // the row before the claim
	row   lease.Row // token and revision are from the last answer or read, the rest from the last answer
	start int64     // the first counter that may be issued
	block int64     // how many counters to request at once; see wantedBound

	since time.Time // when the claim was sent

	// pendingToken is the token of a claim or renewal to which the store has not
	// replied, or "" if there is none. We can't tell whether such a request has been
	// executed, will be executed later, or never will.
	pendingToken  string
	earlierTokens []string  // tokens of earlier claims of the same revision of the row
	unconfirmed   bool      // whether the reply to the claim was lost and no renewal has been answered since
	volatile      bool      // whether the store may lose a commit, in which case the claim grants nothing
	renewed       time.Time // when the last confirmed claim or renewal was sent
	raised        time.Time // when we last requested a block; see wantedBound
}

// Open claims a worker number and grants it to the issuer. See snowkey.Open
// for when it returns, and with which errors.
func Open(ctx context.Context, store lease.Store, issuer leased.Issuer, cfg Config) (leased.Keeper, error) {
	k := &keeper{store: store, issuer: issuer, cfg: cfg, terms: cfg.Terms, soon: make(chan struct{}, 1), search: search{lastWorker: -1}, unreserve: func() {}}
	k.clocks = clocks{cfg: cfg, issuer: issuer}
	k.life, k.endLife = context.WithCancel(context.WithoutCancel(ctx))
	if err := k.Resume(ctx); err != nil {
		return nil, errors.Join(err, k.Close(ctx))
	}
	return k, nil
}

// Want implements [leased.Keeper]. The keeper renews the lease as soon as the store can
// grant these counters.
func (k *keeper) Want(end int64) {
	for {
		needed := k.needed.Load()
		if end <= needed || k.needed.CompareAndSwap(needed, end) {
			break
		}
	}
	k.RenewSoon()
}

// RenewSoon implements [leased.Keeper]. The keeper always waits at least Window/100 after
// the last renewal.
func (k *keeper) RenewSoon() {
	select {
	case k.soon <- struct{}{}:
	default:
	}
}

// Resume claims a worker number as [Open] does, unless the keeper already has one, and
// returns when the first id may be issued. If ctx ends before that, it returns an error
// and the keeper stays suspended.
func (k *keeper) Resume(ctx context.Context) error {
	k.turn.Lock()
	defer k.turn.Unlock()
	switch {
	case k.life.Err() != nil:
		return lease.ErrClosed
	case k.stop != nil:
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(k.life, cancel)()
	k.granted, k.done, k.failed, k.stopped = make(chan struct{}), make(chan struct{}), nil, false
	k.reserve()
	if err := k.retry(ctx, true, k.claim); err != nil {
		k.unreserve()
		return err
	}
	heldOff := k.heldOff(k.held)
	var running context.Context
	running, k.stop = context.WithCancel(k.life)
	go k.run(running)
	select {
	case <-k.granted:
		return nil
	case <-ctx.Done():
		err := k.end(ctx, lease.ErrSuspended)
		return errors.Join(ctx.Err(), heldOff, k.failed, err)
	}
}

// Suspend implements [leased.Keeper]. Since the process then holds no lease in its memory,
// it is safe to copy the process or its virtual machine.
func (k *keeper) Suspend(ctx context.Context) error {
	k.turn.Lock()
	defer k.turn.Unlock()
	return k.end(ctx, lease.ErrSuspended)
}

// Close implements [leased.Keeper]. It returns when the store has confirmed the release, or
// with an error, and then the worker number becomes free when the lease expires.
func (k *keeper) Close(ctx context.Context) error {
	k.endLife() // also ends a Resume that is waiting
	k.turn.Lock()
	defer k.turn.Unlock()
	return k.end(ctx, lease.ErrClosed)
}

// end stops run, seals the issuer with reason, and releases the lease if there is one.
// The caller must hold turn.
func (k *keeper) end(ctx context.Context, reason error) error {
	defer k.unreserve()
	var unused int64 = maxCounter
	if k.stop != nil {
		k.stop()
		<-k.done
		k.stop = nil
		unused = k.issuer.Seal(reason)
	}
	if k.held == nil && k.unsure == nil {
		return nil
	}
	// When a program shuts down, its ctx has often ended already. The release still
	// needs one or two statements, so we give it a timeout of its own.
	grace, done := context.WithTimeout(context.WithoutCancel(ctx), k.cfg.window()/4)
	defer done()
	if k.held == nil {
		return k.withdraw(grace)
	}
	t := k.held
	if t.pendingToken != "" {
		if k.reread(grace, t); k.held == nil {
			return nil // the lease was lost
		}
	}
	if t.pendingToken != "" {
		unused = maxCounter // a delayed renewal may still raise the bound, so we must not lower it
	}
	k.held = nil
	return k.release(grace, t.row, unused)
}

// reserve reserves a connection, for instance, until unreserve is called.
func (k *keeper) reserve() {
	release, warning := leased.Reserve(k.store)
	if warning != "" {
		k.log().Warn("lease: ids may stop", "namespace", k.cfg.Namespace, "reason", warning)
	}
	k.unreserve = func() {
		release()
		k.unreserve = func() {}
	}
}

// withdraw is called if the keeper ends before it knows whether its last claim
// succeeded. It releases the claim's row. Even if the claim has not been executed yet,
// this increments the row's revision, so the claim will fail when it arrives. Note that
// in this case the row may still have the token of an expired lease.
func (k *keeper) withdraw(ctx context.Context) error {
	row, err := k.rowOfUnsure(ctx)
	if row == nil {
		return err
	}
	if err = k.release(ctx, *row, maxCounter); err == nil {
		k.unsure = nil
	}
	return err
}

func (k *keeper) release(ctx context.Context, row lease.Row, unused int64) error {
	freed, err := k.store.Release(ctx, k.terms, row, unused)
	if err != nil {
		return &lease.StoreError{Op: "release", Err: err}
	}
	k.log().Info("lease: released the worker number", "namespace", k.cfg.Namespace, "worker", row.Worker, "freed", freed)
	return nil
}

// run renews the lease until ctx ends. If the lease is lost, run claims another one.
func (k *keeper) run(ctx context.Context) {
	defer close(k.done)
	for ctx.Err() == nil {
		if k.held == nil && k.retry(ctx, false, k.claim) != nil {
			return // ctx has ended
		}
		needed := k.idle(ctx, k.held)
		if ctx.Err() == nil {
			k.renew(ctx, k.held, needed)
		}
	}
}

// idle waits until the lease is due for renewal, or until the issuer needs a larger
// bound and the store can grant it. It returns the bound that is needed.
func (k *keeper) idle(ctx context.Context, t *heldLease) (needed int64) {
	wait(ctx, time.Until(t.renewed.Add(k.cfg.window()/3)), k.soon)
	needed = k.needed.Swap(0)
	wait(ctx, time.Until(t.renewed.Add(k.untilGrantable(t, needed))), nil)
	return needed
}

// wait waits for d, but not longer than until it receives from soon. It reports false if
// ctx has ended before that.
func wait(ctx context.Context, d time.Duration, soon <-chan struct{}) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-soon:
	case <-ctx.Done():
		return false
	}
	return true
}

// untilGrantable returns how long after the last renewal the store will be able to
// raise the bound to needed. It's no use renewing earlier than that, because the store
// limits bounds to a cap that grows with its time.
func (k *keeper) untilGrantable(t *heldLease, needed int64) time.Duration {
	wait := time.Duration(reached(k.terms, needed)-t.row.Now) * time.Microsecond
	if wait <= 0 && needed > t.row.Bound {
		return 0
	}
	return min(max(wait, k.cfg.window()/100), k.cfg.window()/3)
}

// reached returns the first time at which the cap is at or above bound.
func reached(t lease.Terms, bound int64) int64 {
	tick := (bound+t.PerTick-1)/t.PerTick - 1
	return t.Epoch + tick*t.Unit - t.Ahead
}

// wantedBound returns the bound to request if counters below needed are required.
//
// The bound is a window ahead of the host's time, or a window ahead of needed if the
// lease starts later than now. One wrong clock can't push it far into the future,
// because the store limits it by its own clock.
//
// For a coarse layout, a window could be the rest of a long tick, so we request a block
// of counters above needed instead. If the last block was used up quickly, the next one
// is two times as large, otherwise half as large. If needed is in a tick that the store
// can't grant yet, wantedBound returns 0. Otherwise we'd waste the rest of the current
// tick, because that's what the store would grant.
func (k *keeper) wantedBound(t *heldLease, needed int64) int64 {
	if !k.terms.Coarse() {
		now := k.clocks.now().UnixMicro()
		return max(k.terms.At(now).Cap, needed+k.terms.At(now).Cap-k.terms.At(now).Tick)
	}
	if needed <= t.row.Bound || reached(k.terms, needed) > t.row.Now+time.Since(t.renewed).Microseconds() {
		return 0
	}
	if least := max(k.terms.PerTick/1024, 1); time.Since(t.raised) < k.cfg.window()/3 {
		t.block = min(2*t.block, max(k.terms.PerTick/16, 1))
	} else {
		t.block = max(t.block/2, least)
	}
	t.raised = time.Now()
	return needed + t.block
}

// renew asks the store to raise the lease's bound. The issuer must not use the new
// bound unless the store confirms the renewal. If it doesn't, renew reads the row to
// find out whether we still hold the lease.
func (k *keeper) renew(ctx context.Context, t *heldLease, needed int64) {
	if t.pendingToken == "" {
		t.pendingToken = newToken(t.since)
	}
	renewal := lease.Renewal{Terms: k.terms, Held: t.row, Token: t.pendingToken, Wanted: k.wantedBound(t, needed), Volatile: t.volatile}
	var row lease.Row
	var renewed bool
	sent := k.clocks.read()
	err := k.inTime(ctx, func(ctx context.Context) (err error) {
		row, renewed, err = k.store.Renew(ctx, renewal)
		k.count(func(s *leased.Stats) {
			s.LastRenewal = time.Since(sent.at)
			s.RenewalTime += s.LastRenewal
			if err == nil && renewed {
				s.Renewals++
			} else {
				s.Failures++
			}
		})
		return err
	})
	switch {
	case renewed:
		k.failed = nil
		k.confirm(t, row, sent)
	case errors.Is(err, lease.ErrNotMigrated):
		k.lose(t, "its table is gone from the store")
	case err != nil:
		// We can't tell whether the request has been executed or will be executed later.
		failed := &lease.StoreError{Op: "renew", Err: err}
		k.issuer.Explain(failed)
		if isAnswer(err) || k.failed == nil {
			k.failed = failed
		}
		if k.stopped = k.stopped || k.outOfIDs(t, needed); k.stopped && k.isNews(k.failed) {
			k.log().Warn("lease: ids have stopped, because the lease could not be renewed", "namespace", k.cfg.Namespace, "reason", k.failed)
		}
		pause(ctx, k.cfg.window()/16)
		k.reread(ctx, t)
	default:
		if before := t.row.Revision; k.reread(ctx, t) && t.row.Revision == before {
			k.drop(ctx, t, t.row, "the store refused to renew it: its clock jumped, it may lose commits now, or it was migrated to another version; call snowkey.Doctor")
		}
	}
}

// confirm updates the keeper and the issuer after the store has confirmed a renewal.
func (k *keeper) confirm(t *heldLease, row lease.Row, sent reading) {
	t.row, t.renewed, t.unconfirmed = row, sent.at, false
	t.pendingToken = "" // the revision has changed, so late requests fail
	k.clocks.compare(sent, row.Now)
	k.issuer.Extend(row.Bound)
	k.announce(t)
}

// outOfIDs reports whether the lease has not been renewed for so long that no ids are left.
func (k *keeper) outOfIDs(t *heldLease, needed int64) bool {
	now := k.terms.At(k.clocks.now().UnixMicro()).Tick
	return time.Since(t.renewed) > k.cfg.window()/2 && (needed > t.row.Bound || now >= t.row.Bound)
}

// announce closes k.granted once the lease's first id may be issued. As long as the
// store hasn't granted that id's counter, announce requests the counter instead, and
// gives the issuer the reason for the wait.
func (k *keeper) announce(t *heldLease) {
	if err := k.heldOff(t); err != nil {
		k.Want(t.start + 1)
		k.issuer.Explain(err)
		return
	}
	if k.warned = ""; k.stopped {
		k.stopped = false
		k.log().Info("lease: ids are back", "namespace", k.cfg.Namespace, "worker", t.row.Worker)
	}
	select {
	case <-k.granted:
	default:
		close(k.granted)
	}
}

// heldOff returns an error as long as the store has not granted any counters to the
// lease.
func (k *keeper) heldOff(t *heldLease) error {
	if t.start < t.row.Bound {
		return nil
	}
	left := time.Duration(reached(k.terms, t.start+1)-t.row.Now) * time.Microsecond
	return &lease.HoldOffError{Namespace: k.cfg.Namespace, For: max(left, 0), Unconfirmed: t.unconfirmed}
}

// reread reads the lease's row after a renewal that failed, and reports whether we
// still hold the lease. If the row contains the renewal's token, the renewal did
// succeed, so we continue from the row's token and revision. We must ignore the row's
// bound, however, because some servers show a commit to readers before it's flushed to
// the disk. Only a later renewal that is answered can raise the bound.
func (k *keeper) reread(ctx context.Context, t *heldLease) (held bool) {
	var rows []lease.Row
	err := k.inTime(ctx, func(ctx context.Context) (err error) {
		rows, err = k.store.Rows(ctx, k.terms, t.row.Worker, t.row.Worker)
		return err
	})
	switch {
	case errors.Is(err, lease.ErrNotMigrated):
		k.lose(t, "its table is gone from the store")
	case err != nil:
		k.issuer.Explain(&lease.StoreError{Op: "read", Err: err})
		return false
	case len(rows) == 0:
		k.lose(t, "its row is gone from the store")
	case rows[0].Token != t.row.Token && rows[0].Token != t.pendingToken:
		// Revisions only ever increase, so if this one is smaller, the row was restored
		// from an older dump.
		k.regressed = rows[0].Revision < t.row.Revision
		k.lose(t, fmt.Sprintf("another process has its row (%s), or the store has lost a renewal", rows[0].Label))
	case rows[0].Expires < rows[0].Now:
		k.drop(ctx, t, rows[0], "it expired before it could be renewed")
	case rows[0].Token == t.pendingToken:
		t.row.Token, t.row.Revision, t.pendingToken = rows[0].Token, rows[0].Revision, ""
		return true
	default:
		return true
	}
	return false
}

// drop ends a lease whose row no other process has taken yet, and frees that row.
// Otherwise, other processes would have to wait until the lease has been expired for
// MaxClockSkew. That can take long: if the store's clock was an hour ahead and has been
// corrected, they'd wait for an hour.
func (k *keeper) drop(ctx context.Context, t *heldLease, row lease.Row, reason string) {
	k.lose(t, reason)
	if err := k.inTime(ctx, func(ctx context.Context) error { return k.release(ctx, row, maxCounter) }); err != nil {
		k.issuer.Explain(err)
	}
}

// lose ends a lease: it seals the issuer, logs the reason and calls OnLost.
func (k *keeper) lose(t *heldLease, reason string) {
	lost := &lease.LostError{Namespace: k.cfg.Namespace, Worker: t.row.Worker, Since: time.Now(), Reason: reason}
	k.issuer.Seal(lost)
	k.held, k.stopped = nil, true
	k.count(func(s *leased.Stats) { s.Losses++ })
	k.log().Error("lease: lost the worker number", "namespace", lost.Namespace, "worker", lost.Worker, "reason", reason)
	if k.cfg.OnLost != nil {
		go k.cfg.OnLost(lost)
	}
}

// patience returns the timeout for one attempt to claim or one call for a lease. While
// we have no lease, there's no point in a short timeout, because afterwards we'd only
// queue for a connection again. With a lease, we need time for a second call before the
// lease expires, so the timeout is shorter. However, if calls keep timing out, the lease
// is probably lost and the store overloaded. The timeout then doubles after 2, 4, 8 and
// 16 calls. Without that, a process could never again connect to a store that takes
// longer for it.
func (k *keeper) patience() time.Duration {
	timeout := k.cfg.window() / 4 << max(bits.Len(uint(min(k.gaveUp, 16)))-1, 0)
	if k.held == nil {
		timeout = max(timeout, k.cfg.window()/2)
	}
	return timeout
}

// inTime calls the store with the timeout of patience, and counts calls that timed out.
func (k *keeper) inTime(ctx context.Context, call func(context.Context) error) error {
	timeout := k.patience()
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it has not answered for %v", timeout))
	defer cancel()
	err := call(ctx)
	if ctx.Err() == context.DeadlineExceeded {
		k.gaveUp++
	} else {
		k.gaveUp = 0
	}
	return k.unanswered(ctx, err)
}

// pause waits for a random time around d, but never longer than longestWait. We
// randomize it so that processes which failed together don't all try again together.
// pause reports false if ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	return wait(ctx, min(d/2+rand.N(d), longestWait), nil)
}

func (k *keeper) log() *slog.Logger { return k.cfg.Logger }

func (k *keeper) count(f func(*leased.Stats)) {
	k.counting.Lock()
	defer k.counting.Unlock()
	f(&k.counted)
}

// Stats implements [leased.Keeper].
func (k *keeper) Stats() (now leased.Stats) {
	k.count(func(s *leased.Stats) { now = *s })
	return now
}

// isNews reports whether to log why there is no lease or why ids have stopped: not if the
// reason is the same as the last time.
func (k *keeper) isNews(err error) bool {
	if isRace(err) {
		return false
	}
	key := err.Error()
	if e, ok := errors.AsType[*lease.StoreError](err); ok {
		key = e.Err.Error() // the same for each operation
	}
	// These texts contain durations, so they are different every time.
	if isTaken(err) {
		key = "taken"
	} else if isBlocked(err) {
		key = "blocked"
	} else if errors.Is(err, context.DeadlineExceeded) {
		key = "no answer"
	}
	news := k.warned != key
	k.warned = key
	return news
}
