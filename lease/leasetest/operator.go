package leasetest

import (
	"context"

	"github.com/snowkey-go/snowkey/lease"
)

// An Operator changes a store as a person with a database client can. If the stores
// given to [Run] are Operators, the suite also covers rows that are deleted or edited
// while they are leased, and a database that replaced another.
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
