package keeper

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/leased"
	"github.com/snowkey-go/snowkey/lease"
)

// maxCounter is larger than any cap, so a keeper that requests it gets the largest
// bound that the store can grant.
const maxCounter = 1<<63 - 1

// newToken returns 128 random bits as text, followed by the current time and the time
// of the claim. Random bits alone are not enough, because a virtual machine and its
// clone may generate the same ones. The time of the claim is only there for people; see
// [Workers].
func newToken(claimed time.Time) string {
	return cryptorand.Text() + strconv.FormatInt(time.Now().UnixNano(), 36) + "." + strconv.FormatInt(claimed.Unix(), 36)
}

// claimTime returns the time of the claim in a token, or the zero time if it has none.
func claimTime(token string) time.Time {
	_, text, _ := strings.Cut(token, ".")
	seconds, err := strconv.ParseInt(text, 36, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// These are the pauses between attempts to claim. The pause doubles after each failed
// attempt, or grows fourfold while the namespace or its rows are missing.
const (
	firstRacePause  = 10 * time.Millisecond
	firstLookPause  = 30 * time.Millisecond
	firstErrorPause = 100 * time.Millisecond
	longestPause    = time.Second
	longestWait     = 2 * time.Second // while all worker numbers are in use
)

// retry calls try, which attempts to get a worker number. If it fails, retry pauses and
// tries again until ctx ends. It then returns the last error that the store reported, since
// the error of an attempt that was cut off by ctx doesn't show what's wrong. If final is
// set, retry returns immediately if another attempt can't fix the error.
func (k *keeper) retry(ctx context.Context, final bool, try func(context.Context) error) error {
	var answer error
	first := time.Now()
	for attempt := 0; ; attempt++ {
		began := time.Now()
		err := k.inTime(ctx, try)
		if err == nil {
			return nil
		}
		if final && (isFinal(err) || isBlocked(err) && time.Since(first) >= k.cfg.MaxBlocked) {
			return err
		}
		if isAnswer(err) || answer == nil {
			answer = err
		}
		k.issuer.Explain(err)
		if ctx.Err() == nil && k.isNews(err) {
			k.log().Warn("lease: no worker number yet", "namespace", k.cfg.Namespace, "reason", err)
		}
		if !pause(ctx, k.untilNextAttempt(err, attempt, time.Since(began))) {
			return errors.Join(ctx.Err(), answer)
		}
	}
}

// untilNextAttempt returns how long to pause after an attempt that failed with err.
// took is the duration of that attempt, which we add to some pauses. If many processes
// start together, attempts take longer, and longer pauses then relieve the store.
func (k *keeper) untilNextAttempt(err error, attempt int, took time.Duration) time.Duration {
	if k.taken != nil {
		return min(max(k.taken.NextFree, firstErrorPause), longestWait)
	}
	double := func(first time.Duration, times int) time.Duration { return min(first<<min(times, 10), longestPause) }
	switch err {
	case errRace:
		return double(firstRacePause, attempt) + took
	case errAbsent:
		return double(firstLookPause, 2*(k.looks-1)) + took
	}
	return double(firstErrorPause, attempt)
}

// is reports whether err is, or wraps, an error of the type E.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// isFinal reports whether another attempt would only give the same error.
func isFinal(err error) bool {
	return is[*lease.LayoutError](err) || is[*lease.ClockSkewError](err) ||
		is[*lease.VersionError](err) || is[*lease.PermanentError](err)
}

// isAnswer reports whether err came from the store rather than from a timeout or a lost
// race.
func isAnswer(err error) bool {
	return isBlocked(err) || !isRace(err) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled)
}

// isBlocked reports whether this process itself kept the store from answering.
func isBlocked(err error) bool { return is[*lease.BlockedError](err) }

// isTaken reports whether all worker numbers are in use.
func isTaken(err error) bool { return is[*lease.TakenError](err) }

// unanswered completes the error of a call if ctx ended during the call. It adds ctx's
// error, because drivers may return errors of their own, and how long the store has not
// answered.
func (k *keeper) unanswered(ctx context.Context, err error) error {
	if b, ok := errors.AsType[*lease.BlockedError](err); ok {
		if b.Limit == 0 {
			b.Limit = k.cfg.MaxBlocked
		}
		return err
	}
	if err == nil || ctx.Err() == nil || isRace(err) || isFinal(err) || isTaken(err) {
		return err
	}
	if isAnswer(err) {
		err = fmt.Errorf("%w: %w", err, ctx.Err())
	}
	if cause := context.Cause(ctx); cause != ctx.Err() {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

var (
	errRace   = errors.New("lease: another process was faster")
	errAbsent = errors.New("lease: the namespace or its rows do not exist yet, and another process may be adding them")
)

// isRace reports whether an attempt failed only because of other processes.
func isRace(err error) bool { return err == errRace || err == errAbsent }

// maxProbes limits the steps of one attempt to claim. Before the claim itself, we need
// three steps at most: migrate the store, create or fence the namespace, and add rows.
// Altogether, an attempt calls the store fewer than 20 times.
const maxProbes = 4

// claim makes one attempt to claim a row, but first prepares the store for it where
// necessary. It returns errRace if another process claimed the row first, or after maxProbes
// steps.
func (k *keeper) claim(ctx context.Context) error {
	if k.regressed {
		if err := k.store.Fence(ctx, k.terms, ""); err != nil {
			return &lease.StoreError{Op: "fence", Err: err}
		}
		k.regressed = false
	}
	again, err := k.resolveClaim(ctx)
	if k.held != nil || err != nil {
		return err
	}
	p, err := k.prepared(ctx, again, k.claimable)
	if err != nil {
		return err
	}
	return k.take(ctx, p)
}

// prepared probes until ready returns true, and takes a step of the preparation after each
// other probe. It returns errRace after maxProbes of them.
func (k *keeper) prepared(ctx context.Context, again *lease.Row, ready func(lease.Probe) bool) (p lease.Probe, err error) {
	for range maxProbes {
		p, err = k.probe(ctx, again)
		switch {
		case errors.Is(err, lease.ErrNotMigrated) && !k.cfg.SkipMigrate:
			err = k.migrate(ctx)
		case err != nil:
		case ready(p):
			return p, nil
		default:
			err = k.prepare(ctx, p)
		}
		if err != nil {
			return p, err
		}
	}
	return p, errRace
}

// probe looks for a row to claim, or for the row that becomes free first while all worker
// numbers are in use. If again can be claimed, the probe has that row.
func (k *keeper) probe(ctx context.Context, again *lease.Row) (lease.Probe, error) {
	q := lease.Query{Terms: k.terms, Min: k.cfg.MinWorker, Max: k.cfg.MaxWorker, PreferWorker: k.lastWorker, Waiting: k.taken != nil}
	if k.cfg.PreferSame {
		q.PreferLabel = k.cfg.Label
	}
	sent := k.clocks.read()
	p, err := k.store.Probe(ctx, q)
	if err != nil {
		return p, &lease.StoreError{Op: "probe", Err: err}
	}
	if err := k.clocks.check(sent, p.Now, p.Volatile); err != nil {
		return p, err
	}
	if p.Volatile && k.terms.Coarse() {
		return p, &lease.PermanentError{
			Err:    fmt.Errorf("lease: namespace %q has ticks of %v, and its store may lose commits, so each lease would wait for the next tick", k.cfg.Namespace, micros(k.terms.Unit)),
			Remedy: "configure the store to flush each commit, or use a layout with ticks of a second or less",
		}
	}
	if again != nil && again.Bound <= k.terms.At(p.Now).RaisedFence {
		p.Row, p.HasFree = *again, true
	}
	return p, nil
}

// claimable reports whether the probe has found a row to claim. A row whose bound is far
// ahead is claimed only if no other can be added.
func (k *keeper) claimable(p lease.Probe) bool {
	return isCurrent(p) && p.HasFree && (p.Row.Bound <= k.terms.At(p.Now).RaisedFence || p.LastWorker >= k.cfg.MaxWorker)
}

// isCurrent reports whether the namespace exists, in the database for which it was created or
// fenced.
func isCurrent(p lease.Probe) bool { return p.HasNamespace && p.Fingerprint == p.Current }

// takenFor is the number of TTLs for which a waiting process keeps using its list of
// the holders.
const takenFor = 4

// take claims the row that the probe has found.
func (k *keeper) take(ctx context.Context, p lease.Probe) error {
	now := time.Now()
	t := &heldLease{
		row: lease.Row{Worker: p.Row.Worker, Now: p.Now}, seen: p.Row, since: now, pendingToken: newToken(now),
		start: max(p.Row.Bound, p.Fence), volatile: p.Volatile, renewed: k.clocks.read().at,
	}
	if u := k.unsure; u != nil && u.volatile == t.volatile &&
		u.seen.Worker == t.seen.Worker && u.seen.Token == t.seen.Token && u.seen.Revision == t.seen.Revision {
		t.start = max(t.start, u.start) // we don't know which of the two claims will be executed
		t.earlierTokens = append(u.earlierTokens, u.pendingToken)
	}
	c := lease.Claim{Terms: k.terms, Seen: p.Row, Fence: p.Fence, Token: t.pendingToken, Label: k.cfg.Label, Volatile: p.Volatile}
	c.Wanted = k.wantedBound(t, max(t.start, k.terms.At(k.clocks.now().UnixMicro()).Tick))
	if p.Volatile { // raise the bound above everything that the store can have granted, even if the next server's clock is behind
		c.Wanted = maxCounter
		c.Terms.Ahead += k.terms.Skew
	}
	sent := k.clocks.read()
	row, ok, err := k.store.Claim(ctx, c)
	took, host := time.Since(sent.at), k.cfg.Clock().Round(0).Sub(sent.wall.Round(0))
	if err == nil && ok && p.Volatile && host > took+k.cfg.skew() {
		err = errAsleep // we don't know the store's time now
	}
	switch {
	case err != nil:
		k.unsure = t
		return &lease.StoreError{Op: "claim", Err: err}
	case !ok:
		k.taken = nil // so that the next probe reads all rows
		return errRace
	}
	k.holdOff(t, row.Now+took.Microseconds())
	k.hold(t, row, row.Bound)
	return nil
}

// holdOff makes a lease on a volatile store start above everything that can have been
// granted until now, a time of the store after the claim was executed. A store without a
// clock raised the bound by an earlier time: when the claim was sent. What is lost may be
// later than that.
func (k *keeper) holdOff(t *heldLease, now int64) {
	if t.volatile {
		t.start = max(t.start, k.terms.At(now).RaisedFence)
	}
}

var errAsleep = errors.New("this host was asleep during the claim, or its clock has jumped")

// resolveClaim finds out what happened to the last claim if the store did not reply to
// it. It must be called before a new claim. If the row has that claim's token, we hold
// the lease, but we must not issue ids until the store has replied to a renewal,
// because a crash may undo a commit that we've only seen in a read. If the row is free,
// the claim may still be executed, so we claim the same row again, since only one of
// the two claims can succeed. If we claimed another row instead, this one could stay in
// use until its lease expires.
func (k *keeper) resolveClaim(ctx context.Context) (again *lease.Row, err error) {
	t := k.unsure
	if t == nil {
		return nil, nil
	}
	row, err := k.rowOfUnsure(ctx)
	if row == nil || !t.claimed(*row) {
		return row, err
	}
	if k.unsure = nil; row.Expires >= row.Now {
		t.renewed, t.unconfirmed = time.Now().Add(-k.cfg.window()), true // so that a renewal is due immediately
		k.holdOff(t, row.Now)
		k.hold(t, *row, 0)
	}
	return nil, nil
}

// rowOfUnsure returns the row of the last claim, if it has the claim's token, or if it is free
// and the claim may still be executed. Otherwise, another process has the row, or it's gone,
// so the claim will fail, and rowOfUnsure forgets it.
func (k *keeper) rowOfUnsure(ctx context.Context) (*lease.Row, error) {
	rows, err := k.store.Rows(ctx, k.terms, k.unsure.row.Worker, k.unsure.row.Worker)
	switch {
	case err != nil && !errors.Is(err, lease.ErrNotMigrated):
		return nil, &lease.StoreError{Op: "read", Err: err}
	case len(rows) == 1 && (k.unsure.claimed(rows[0]) || k.terms.Free(rows[0])):
		return &rows[0], nil
	}
	k.unsure = nil
	return nil, nil
}

// claimed reports whether the row has the token of any claim that we sent for it.
func (t *heldLease) claimed(row lease.Row) bool {
	return row.Token != "" && (row.Token == t.pendingToken || slices.Contains(t.earlierTokens, row.Token))
}

// hold starts the lease t after its claim has succeeded, and grants it to the issuer.
// row is the row after the claim, and bound is the bound that the store confirmed in
// its reply, or 0 if there was no reply.
func (k *keeper) hold(t *heldLease, row lease.Row, bound int64) {
	if t.volatile {
		t.start = max(t.start, row.Bound) // hold-off: only renewals grant ids, not the claim
	}
	row.Bound = max(bound, t.start)
	t.row, t.pendingToken, t.earlierTokens = row, "", nil
	k.held, k.unsure, k.warned, k.taken, k.looks, k.lastWorker = t, nil, "", nil, 0, row.Worker
	k.count(func(s *leased.Stats) { s.Claims++ })
	k.issuer.Grant(row.Worker, t.start, row.Bound)
	k.announce(t)
	k.log().Info("lease: leased a worker number", "namespace", k.cfg.Namespace, "worker", row.Worker)
}

// allTaken returns the error to report if all worker numbers are in use.
func (k *keeper) allTaken(rows []lease.Row) *lease.TakenError {
	e := &lease.TakenError{Namespace: k.cfg.Namespace, Min: k.cfg.MinWorker, Max: k.cfg.MaxWorker}
	seen := map[string]bool{"": true}
	for i, r := range rows {
		if !seen[r.Label] {
			seen[r.Label] = true
			e.Holders = append(e.Holders, r.Label)
		}
		if left := k.untilFree(r); i == 0 || left < e.NextFree {
			e.NextFree = left
		}
		// A holder renews when a third of Window has passed, so if two thirds have passed,
		// it has probably stopped.
		if r.Expires-r.Now < k.terms.TTL-k.cfg.window().Microseconds()*2/3 {
			e.Stale++
		}
	}
	return e
}

// untilFree returns the time until a row becomes free if nobody renews its lease.
func (k *keeper) untilFree(r lease.Row) time.Duration {
	return micros(max(r.Expires+k.terms.Skew-r.Now, 0))
}
