package etcdstore

import (
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"context"
	"github.com/snowkey-go/snowkey/lease"
)

// errBusy is returned if other processes changed the keys each time between the read and
// the write of a call.
var errBusy = errors.New("etcdstore: other processes changed the keys each time before they could be written; try again")

func isNoLease(err error) bool { return errors.Is(err, rpctypes.ErrLeaseNotFound) }

// explain returns err, or a PermanentError if a retry can't help.
func explain(err error) error { return err }

// Examine implements [lease.Store].
func (s *Store) Examine(ctx context.Context) ([]lease.Finding, error) { return nil, ctx.Err() }
