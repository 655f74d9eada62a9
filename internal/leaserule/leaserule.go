// Package leaserule has the rules of package lease for stores that apply them in Go. Such
// a store reads a row, calls one of these functions, and writes the row back if it hasn't
// changed since it was read. Package sqlstore has the same rules in the conditions of its
// SQL statements.
package leaserule

import (
	"cmp"
	"slices"

	"github.com/snowkey-go/snowkey/lease"
)

// Forever is the TTL of rows that are reserved: 100 years, in microseconds.
const Forever = 100 * 365 * 24 * 3_600_000_000

// A Namespace is what a claim depends on in addition to its row.
type Namespace struct {
	Fingerprint string // the stored one; "" if the namespace does not have the layout
	Fence       int64
	Current     string // the fingerprint of the store now
	Volatile    bool   // whether the store may lose commits without a new fingerprint
}

// Claim changes row and reports true if all conditions of [lease.Store].Claim hold.
// row.Now must be the store's time.
func Claim(row *lease.Row, ns Namespace, c lease.Claim) bool {
	if !same(row, c.Seen) || row.Bound != c.Seen.Bound || !c.Terms.Free(*row) ||
		ns.Fingerprint == "" || ns.Fingerprint != ns.Current || ns.Fence != c.Fence || ns.Volatile && !c.Volatile {
		return false
	}
	grant(row, c.Terms, c.Token, c.Wanted)
	row.Label = c.Label
	return true
}

// Renew changes row and reports true if all conditions of [lease.Store].Renew hold.
// row.Now must be the store's time, and volatile tells whether the store may lose
// commits without a new fingerprint.
func Renew(row *lease.Row, volatile bool, r lease.Renewal) bool {
	if !same(row, r.Held) || row.Token == "" || row.Expires < row.Now || volatile && !r.Volatile {
		return false
	}
	grant(row, r.Terms, r.Token, r.Wanted)
	return true
}

// Release changes row and reports true if it is the held one.
func Release(row *lease.Row, held lease.Row, unused int64) bool {
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

// grant raises the bound to wanted, or to the cap at row.Now if that is lower.
func grant(row *lease.Row, terms lease.Terms, token string, wanted int64) {
	row.Token = token
	row.Revision++
	row.Bound = max(row.Bound, min(wanted, terms.At(row.Now).Cap))
	row.Expires = row.Now + terms.TTL
}

// Choose returns the best of rows for a query, and whether it found one. If several are
// equally good, it returns the first of them. The Now of each row must be the store's
// time.
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
