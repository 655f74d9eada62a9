package keeper

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/snowkey-go/snowkey/internal/leased"
	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/lease"
)

// backfillPrefix begins the tokens of worker numbers that are reserved for a backfill. The
// name of the backfill follows.
const backfillPrefix = "backfill:"

var backfillName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,48}$`) // a token has 64 characters at most

// ReserveBackfill implements snowkey.OpenBackfill. It reserves a worker number that no
// process has ever leased, or finds the one that it reserved earlier for this name. It
// returns the number and the first counter that the backfill may not issue, since only
// counters below a bound that the store has confirmed are safe.
//
// Ids of the backfill have counters from 0 up, so we must know that none of them was issued.
// The revision of a row counts all claims. If it is 0, no process has held the row, unless
// the row was deleted or a claim was lost. If commits were lost, the fence was raised above
// the bounds of the rows that existed. So we refuse all rows if a row shows that the fence was
// raised since it was added or last claimed. We refuse a store that can lose commits without
// raising the fence. Whatever happens to the row later, the next lease starts at or above its
// bound, or above a fence. lease/model shows that this is enough for a row that existed when
// commits were lost.
func ReserveBackfill(ctx context.Context, store lease.Store, cfg Config, name string) (worker, bound int64, err error) {
	if !backfillName.MatchString(name) {
		return 0, 0, fmt.Errorf("snowkey: the name of the backfill is %.60q; use 1 to 48 letters, digits, '-' and '_'", name)
	}
	cfg.TTL = protocol.Forever
	k := &keeper{store: store, issuer: noIssuer{}, cfg: cfg, terms: cfg.Terms, search: search{lastWorker: -1}}
	k.clocks = clocks{cfg: cfg, issuer: k.issuer}
	var row lease.Row
	err = k.retry(ctx, true, func(ctx context.Context) (err error) {
		row, err = k.tryBackfill(ctx, backfillPrefix+name)
		return err
	})
	return row.Worker, row.Bound, err
}

// noIssuer is the issuer of a keeper that never holds a lease.
type noIssuer struct{ leased.Issuer }

func (noIssuer) Correct(time.Duration) {}
func (noIssuer) Explain(error)         {}

// tryBackfill makes one attempt to reserve a row, and prepares the store for it where
// necessary. If it had to add that row, it returns errRace, and the next attempt reserves it.
// If the row is reserved already, tryBackfill renews it, because what it has read may not be
// on the disk.
func (k *keeper) tryBackfill(ctx context.Context, token string) (row lease.Row, err error) {
	p, err := k.prepared(ctx, nil, isCurrent)
	if err != nil {
		return row, err
	}
	if p.Volatile {
		return row, k.noBackfill("the store may lose commits, and with them the lease of a worker number")
	}
	layouts, _, err := k.store.Layouts(ctx, k.cfg.Namespace)
	if err != nil {
		return row, &lease.StoreError{Op: "read", Err: err}
	}
	if err := k.checkLayouts(layouts, time.Time{}); err != nil { // in the past, too
		return row, err
	}
	rows, err := k.store.Rows(ctx, k.terms, k.cfg.MinWorker, k.cfg.MaxWorker)
	if err != nil {
		return row, &lease.StoreError{Op: "read", Err: err}
	}
	var unused *lease.Row
	fenced := false
	missing := k.cfg.MinWorker // the smallest number without a row
	for i, r := range rows {
		if r.Token == token {
			row, ok, err := k.store.Renew(ctx, lease.Renewal{Terms: k.terms, Held: r, Token: token, Wanted: maxCounter})
			return answer("renew", row, ok, err)
		}
		if r.Token == "" && r.Revision == 0 {
			unused = &rows[i]
		}
		fenced = fenced || p.Fence > k.fenceBefore(r, p)
		if r.Worker == missing {
			missing++
		}
	}
	switch {
	case fenced:
		return row, k.noBackfill("the fence was raised, because commits may have been lost, and with them the lease of a worker number")
	case unused != nil:
		row, ok, err := k.store.Claim(ctx, lease.Claim{Terms: k.terms, Seen: *unused, Fence: p.Fence, Token: token, Label: token, Wanted: maxCounter})
		return answer("claim", row, ok, err)
	case missing > k.cfg.MaxWorker:
		return row, k.noBackfill("processes have leased each of the worker numbers")
	}
	if err := k.store.AddRows(ctx, k.terms, missing, missing); err != nil {
		return row, &lease.StoreError{Op: "add a row", Err: err}
	}
	return row, errRace
}

// answer returns what tryBackfill returns after the store has replied to a write.
func answer(op string, row lease.Row, ok bool, err error) (lease.Row, error) {
	switch {
	case err != nil:
		return row, &lease.StoreError{Op: op, Err: err}
	case !ok:
		return row, errRace
	}
	return row, nil
}

// fenceBefore returns the largest fence that can have been raised before the row was added or
// last claimed. A bound is at or above that, unless the store loses a row only together with
// its namespace. There, a row is added with the bound of its tick, and a claim raises it to
// the cap.
func (k *keeper) fenceBefore(r lease.Row, p lease.Probe) int64 {
	if !p.OneClock {
		return r.Bound
	}
	terms := k.terms
	if r.Revision > 0 {
		terms.Ahead = 0 // the bound is ahead already
	}
	return terms.At(terms.Epoch + r.Bound/terms.PerTick*terms.Unit).RaisedFence
}

func (k *keeper) noBackfill(reason string) error {
	return &lease.PermanentError{
		Err: fmt.Errorf("lease: none of the worker numbers %d to %d of namespace %q is known to be unused: %s", k.cfg.MinWorker, k.cfg.MaxWorker, k.cfg.Namespace, reason),
		Remedy: "pass idgen.NewBackfill a number that no process could lease at the times of the rows, such as one above their MaxWorker, " +
			"or a layout with another value in a fixed field",
	}
}
