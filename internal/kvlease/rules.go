package kvlease

import (
	"cmp"
	"slices"

	"github.com/snowkey-go/snowkey/lease"
)

// These are the rules of package lease for stores that apply them in Go. Package sqlstore
// has the same rules in the conditions of its SQL statements. The Now of a row must be the
// store's time.

// claim changes row and reports true if all conditions of [lease.Store].Claim hold.
func (c *content) claim(row *lease.Row, claim lease.Claim) bool {
	l := c.namespace.Layouts[claim.Terms.Layout]
	if !same(row, claim.Seen) || row.Bound != claim.Seen.Bound || !claim.Terms.Free(*row) ||
		l.Fingerprint == "" || l.Fingerprint != c.Current || l.Fence != claim.Fence || c.Volatile && !claim.Volatile {
		return false
	}
	Grant(row, claim.Terms, claim.Token, claim.Wanted)
	row.Label = claim.Label
	return true
}

// renew changes row and reports true if all conditions of [lease.Store].Renew hold.
func (c *content) renew(row *lease.Row, r lease.Renewal) bool {
	if !same(row, r.Held) || row.Token == "" || row.Expires < row.Now || c.Volatile && !r.Volatile {
		return false
	}
	Grant(row, r.Terms, r.Token, r.Wanted)
	return true
}

// release changes row and reports true if it is the held one.
func release(row *lease.Row, held lease.Row, unused int64) bool {
	if !same(row, held) {
		return false
	}
	row.Token, row.Bound, row.Expires = "", min(row.Bound, unused), 0
	row.Revision++
	return true
}

func same(row *lease.Row, seen lease.Row) bool {
	return row.Token == seen.Token && row.Revision == seen.Revision
}

// Grant raises the bound to wanted, or to the cap at row.Now if that is lower.
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
	rows = slices.Clone(rows)
	rows = slices.DeleteFunc(rows, func(r lease.Row) bool {
		return r.Worker < q.Min || r.Worker > q.Max || !q.Waiting && !q.Terms.Free(r)
	})
	if len(rows) == 0 {
		return lease.Row{}, false
	}
	return slices.MinFunc(rows, func(a, b lease.Row) int { return cmp.Compare(rank(a), rank(b)) }), true
}
