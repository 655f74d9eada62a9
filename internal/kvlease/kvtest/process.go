package kvtest

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/lease"
)

// Terms are those of a namespace with the layout 41/10/12.
var Terms = lease.Terms{
	Namespace: "orders", Layout: "41/10/12", Epoch: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(),
	Unit: 1000, PerTick: 4096, Workers: 1024, Ahead: 12_000_000, Skew: 2_000_000, TTL: 900_000_000,
}

// A Process leases worker number 7 of [Terms]. A call that returns an error ends the test.
type Process struct {
	*testing.T
	lease.Store
	Held lease.Row // its lease
}

// Must ends the test if there is an error.
func (p *Process) Must(err error) {
	p.Helper()
	errtest.NoError(p, err)
}

// Add adds the namespace and the row, if they are missing.
func (p *Process) Add() {
	p.Helper()
	_, err := p.CreateNamespace(p.Context(), Terms, 0)
	p.Must(errors.Join(err, p.AddRows(p.Context(), Terms, 7, 7)))
}

// Row returns the row in the store.
func (p *Process) Row() lease.Row {
	p.Helper()
	rows := errtest.Must(p.Rows(p.Context(), Terms, 7, 7))(p)
	if len(rows) != 1 {
		p.Fatal("there is no row")
	}
	return rows[0]
}

// Look returns what a probe finds.
func (p *Process) Look() lease.Probe {
	p.Helper()
	return errtest.Must(p.Probe(p.Context(), lease.Query{Terms: Terms, Max: Terms.Workers - 1, PreferWorker: -1}))(p)
}

// ClaimOf returns a claim of the row that a probe has found.
func (p *Process) ClaimOf(found lease.Probe) lease.Claim {
	return lease.Claim{Terms: Terms, Seen: found.Row, Fence: found.Fence, Token: rand.Text(), Wanted: 1 << 62, Volatile: found.Volatile}
}

// Lease claims the row, and returns the counter at which the lease starts. It raises the
// fence first if the database is another one.
func (p *Process) Lease() (start int64) {
	p.Helper()
	found := p.Look()
	if found.Current != found.Fingerprint {
		p.Must(p.Fence(p.Context(), Terms, found.Fingerprint))
		found = p.Look()
	}
	held, ok, err := p.Claim(p.Context(), p.ClaimOf(found))
	p.Must(err)
	if !ok {
		p.Fatalf("the claim of %+v was refused", found.Row)
	}
	p.Held = held
	return max(found.Row.Bound, found.Fence)
}

// Renewed renews the lease, and reports whether the store accepted that.
func (p *Process) Renewed(ctx context.Context) bool {
	p.Helper()
	row, ok, err := p.Renew(ctx, lease.Renewal{Terms: Terms, Held: p.Held, Token: rand.Text(), Wanted: 1 << 62, Volatile: true})
	p.Must(err)
	if ok {
		p.Held = row
	}
	return ok
}
