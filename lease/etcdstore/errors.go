package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	"github.com/snowkey-go/snowkey/lease"
)

// remedies are the errors of etcd that a retry can't fix.
var remedies = map[error]string{
	rpctypes.ErrPermissionDenied: "grant the user's role readwrite on the prefix: etcdctl role grant-permission ROLE readwrite --prefix=true PREFIX",
	rpctypes.ErrAuthFailed:       "check the user and the password of the client",
	rpctypes.ErrUserEmpty:        "set Username and Password in the clientv3.Config",
	rpctypes.ErrNoSpace:          "compact and defragment etcd, or raise --quota-backend-bytes, and disarm the alarm",
	rpctypes.ErrRequestTooLarge:  "start etcd with its default --max-request-bytes, or more",
	rpctypes.ErrTooManyOps:       "start etcd with its default --max-txn-ops, or more",
	rpctypes.ErrCorrupt:          "restore the cluster",
}

// explain adds to an error of etcd that it comes from etcd, and returns a PermanentError
// if a retry can't help.
func (s *Store) explain(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		if failed := s.handshake(); failed != nil {
			return &lease.PermanentError{
				Err:    fmt.Errorf("etcdstore: %w", failed),
				Remedy: "check the certificates of the client and of etcd, and whether the endpoints use https",
			}
		}
	}
	wrapped := fmt.Errorf("etcdstore: %w", err)
	for of, remedy := range remedies {
		if errors.Is(err, of) {
			return &lease.PermanentError{Err: wrapped, Remedy: remedy}
		}
	}
	return wrapped
}

// handshake returns why the client can't set up a secure connection, or nil. The client
// keeps trying until the context of a call ends, and does not report the reason. So we
// send a request that doesn't wait for a connection.
func (s *Store) handshake() error {
	conn := s.client.ActiveConnection()
	if conn.GetState() == connectivity.Ready {
		return nil
	}
	ctx, cancel := context.WithTimeout(s.client.Ctx(), time.Second)
	defer cancel()
	_, err := pb.NewKVClient(conn).Range(ctx, &pb.RangeRequest{Key: []byte(s.prefix)}, grpc.WaitForReady(false))
	if err == nil || !strings.Contains(err.Error(), "authentication handshake failed") {
		return nil
	}
	return err
}
