package kvlease

import (
	"context"

	"github.com/snowkey-go/snowkey/lease"
)

// These are the rules of package lease for stores that apply them in Go. Package sqlstore
// has the same rules in the conditions of its SQL statements.

// Claim implements [lease.Store].
func (s *Store) Claim(ctx context.Context, claim lease.Claim) (lease.Row, bool, error) {
	return s.updateRow(ctx, claim.Terms, claim.Seen.Worker, true, func(c *content, row *lease.Row) bool {
		l, created := c.layout()
		if !same(row, claim.Seen) || row.Bound != claim.Seen.Bound || !c.Terms.Free(*row) ||
			!created || l.Fingerprint != c.Current || l.Fence != claim.Fence || c.Volatile && !claim.Volatile {
			return false
		}
		Grant(row, c.Terms, claim.Token, claim.Wanted)
		row.Label = claim.Label
		return true
	})
}

// Renew implements [lease.Store].
func (s *Store) Renew(ctx context.Context, r lease.Renewal) (lease.Row, bool, error) {
	return s.updateRow(ctx, r.Terms, r.Held.Worker, true, func(c *content, row *lease.Row) bool {
		if !same(row, r.Held) || row.Token == "" || row.Expires < row.Now || c.Volatile && !r.Volatile ||
			s.Pinned && c.claimed != c.Current {
			return false
		}
		Grant(row, c.Terms, r.Token, r.Wanted)
		return true
	})
}

// Release implements [lease.Store].
func (s *Store) Release(ctx context.Context, terms lease.Terms, held lease.Row, unused int64) (bool, error) {
	_, ok, err := s.updateRow(ctx, terms, held.Worker, false, func(_ *content, row *lease.Row) bool {
		if !same(row, held) {
			return false
		}
		row.Token, row.Bound, row.Expires = "", min(row.Bound, unused), 0
		row.Revision++
		return true
	})
	return ok, err
}

func same(row *lease.Row, seen lease.Row) bool {
	return row.Token == seen.Token && row.Revision == seen.Revision
}

// Grant raises the bound to wanted, or to the cap at row.Now, the store's time, if that is
// lower.
func Grant(row *lease.Row, terms lease.Terms, token string, wanted int64) {
	row.Token = token
	row.Revision++
	row.Bound = max(row.Bound, min(wanted, terms.At(row.Now).Cap))
	row.Expires = row.Now + terms.TTL
}

// Choose returns the best of rows for a query, and whether it found one. If several are
// equally good, it returns the first of them.
func Choose(rows []lease.Row, q lease.Query) (best lease.Row, found bool) {
	rank := func(r lease.Row) int64 {
		limits := q.Terms.At(r.Now)
		switch {
		case q.Waiting:
			return r.Expires
		case r.Bound >= limits.Cap:
			return 4
		case r.Worker == q.PreferWorker:
			return 0
		case q.PreferLabel != "" && r.Label == q.PreferLabel:
			return 1
		case r.Bound <= limits.Tick:
			return 2
		}
		return 3
	}
	for _, r := range rows {
		fits := q.Min <= r.Worker && r.Worker <= q.Max && (q.Waiting || q.Terms.Free(r))
		if fits && (!found || rank(r) < rank(best)) {
			best, found = r, true
		}
	}
	return best, found
}
