package leasetest

import (
	"context"

	"github.com/snowkey-go/snowkey/lease"
)

// An Operator can change a store the way somebody with a database client could. If the
// stores passed to [Run] implement Operator, the suite also tests what happens when a row
// is edited, or when the whole database is replaced.
type Operator interface {
	// Edit overwrites all columns of an existing row.
	Edit(ctx context.Context, terms lease.Terms, row lease.Row) error

	// DeleteNamespace deletes the namespace's entry for the layout, but not its rows.
	DeleteNamespace(ctx context.Context, terms lease.Terms) error

	// SetFingerprint overwrites the fingerprint stored when the layout was created or
	// fenced.
	SetFingerprint(ctx context.Context, terms lease.Terms, fingerprint string) error
}
