package leasetest

import (
	"context"

	"github.com/snowkey-go/snowkey/lease"
)

// An Operator can make the kind of changes to a store that a person could make with a
// database client. If the stores passed to [Run] implement Operator, the suite also
// tests what happens when a row is deleted or edited during its lease, and when the
// whole database is replaced by another one.
type Operator interface {
	// Delete deletes the row of a worker.
	Delete(ctx context.Context, terms lease.Terms, worker int64) error

	// Edit overwrites all columns of a row that exists.
	Edit(ctx context.Context, terms lease.Terms, row lease.Row) error

	// DeleteNamespace deletes the namespace's entry for the layout, and no rows.
	DeleteNamespace(ctx context.Context, terms lease.Terms) error

	// SetFingerprint overwrites the fingerprint that the layout was created or
	// fenced under.
	SetFingerprint(ctx context.Context, terms lease.Terms, fingerprint string) error
}
