package etcdstore

import (
	"errors"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/snowkey-go/snowkey/lease"
)

// An error that a retry can't fix has a remedy. Others are tried again by the keeper.
func TestErrors(t *testing.T) {
	s, m, c := claimable(t)
	for _, tt := range []struct {
		err    error
		remedy string // "" if it isn't permanent
	}{
		{rpctypes.ErrPermissionDenied, "grant-permission"},
		{rpctypes.ErrUserEmpty, "Username"},
		{rpctypes.ErrNoSpace, "disarm"},
		{rpctypes.ErrRequestTooLarge, "--max-request-bytes"},
		{rpctypes.ErrTooManyOps, "--max-txn-ops"},
		{rpctypes.ErrTooManyRequests, ""},
		{rpctypes.ErrNoLeader, ""},
	} {
		m.fail = tt.err
		_, _, claimed := s.Claim(t.Context(), c)
		for _, err := range []error{claimed, s.AddRows(t.Context(), c.Terms, 1, 2)} {
			permanent, ok := errors.AsType[*lease.PermanentError](err)
			if !errors.Is(err, tt.err) || ok != (tt.remedy != "") || ok && !strings.Contains(permanent.Remedy, tt.remedy) {
				t.Errorf("%v became %v", tt.err, err)
			}
		}
	}
}
