package etcdstore

import (
	"context"
	"net"
	"slices"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/snowkey-go/snowkey/internal/errtest"
)

type emptyKV struct{ pb.KVServer }

func (emptyKV) Txn(_ context.Context, r *pb.TxnRequest) (*pb.TxnResponse, error) {
	empty := &pb.ResponseOp{Response: &pb.ResponseOp_ResponseRange{ResponseRange: &pb.RangeResponse{}}}
	return &pb.TxnResponse{Header: &pb.ResponseHeader{}, Succeeded: true, Responses: slices.Repeat([]*pb.ResponseOp{empty}, len(r.Success))}, nil
}

// When etcd is back, a store connects again at once, although gRPC would wait for an hour.
func TestReconnectsAfterAnOutage(t *testing.T) {
	listener := errtest.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := listener.Addr().String()
	listener.Close()
	client := errtest.Must(clientv3.New(clientv3.Config{Endpoints: []string{address}, DialOptions: []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: time.Hour, MaxDelay: time.Hour}}),
	}}))(t)
	defer client.Close()
	layouts := func(timeout time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		_, _, err := New(client).Layouts(ctx, "orders")
		return err
	}
	if err := layouts(100 * time.Millisecond); err == nil {
		t.Fatal("a call succeeded without a server")
	}

	listener = errtest.Must(net.Listen("tcp", address))(t)
	server := grpc.NewServer()
	pb.RegisterKVServer(server, emptyKV{})
	go server.Serve(listener)
	defer server.Stop()
	for deadline := time.Now().Add(time.Minute); ; {
		err := layouts(2 * time.Second)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("not connected again: ", err)
		}
	}
}
