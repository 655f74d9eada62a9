package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	"github.com/snowkey-go/snowkey/internal/kvlease"
	"github.com/snowkey-go/snowkey/lease"
)

// commit executes a transaction. It may execute it again, if there was no reply.
func (s *Store) commit(ctx context.Context, when []clientv3.Cmp, ops []clientv3.Op) (*clientv3.TxnResponse, error) {
	resp, silent, err := led(ctx, s, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return s.client.Txn(ctx).If(when...).Then(ops...).Commit()
	})
	if err == nil && silent && !resp.Succeeded {
		// The conditions may fail because of our own first request.
		return nil, errors.New("etcdstore: a request had no reply, and it may have been executed")
	}
	return resp, err
}

// led sends a request to a member that answers and knows the leader, and reports whether a
// try had no reply. The client sends requests to all members in turn, also to those that
// are cut off from the others, which refuse them at once, and to those that hang. So led
// tries the next member. Each try has half of the time that is left, so that a slow cluster
// has time to answer too. After an outage, gRPC waits for up to two minutes before it
// connects again, which is too long for a lease. So after a try without a reply, led makes
// it connect at once.
func led[T any](ctx context.Context, s *Store, send func(context.Context) (T, error)) (resp T, silent bool, err error) {
	for tries := len(s.client.Endpoints()); ; tries-- {
		try, cancel := ctx, context.CancelFunc(func() {})
		if deadline, ok := ctx.Deadline(); ok && tries > 0 {
			try, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		}
		resp, err = send(clientv3.WithRequireLeader(try))
		ended := err != nil && try.Err() != nil
		cancel()
		if ended {
			silent = true
			s.client.ActiveConnection().ResetConnectBackoff()
		}
		again := errors.Is(err, rpctypes.ErrNoLeader) || ended && ctx.Err() == nil
		if !again || tries <= 0 {
			return resp, silent, s.explain(err)
		}
	}
}

func clusterOf(h *pb.ResponseHeader) string { return strconv.FormatUint(h.ClusterId, 16) }

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
	return kvlease.Explain("etcdstore", err, remedies)
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
