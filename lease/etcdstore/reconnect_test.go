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
)

type emptyKV struct{ pb.KVServer }

func (emptyKV) Txn(_ context.Context, r *pb.TxnRequest) (*pb.TxnResponse, error) {
	empty := &pb.ResponseOp{Response: &pb.ResponseOp_ResponseRange{ResponseRange: &pb.RangeResponse{}}}
	return &pb.TxnResponse{Header: &pb.ResponseHeader{}, Succeeded: true, Responses: slices.Repeat([]*pb.ResponseOp{empty}, len(r.Success))}, nil
}

// When etcd is back, a store connects again at once, although gRPC would wait for an hour.
func TestReconnectsAfterAnOutage(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{address}, DialOptions: []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: time.Hour, MaxDelay: time.Hour}}),
	}})
	if err != nil {
		t.Fatal(err)
	}
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

	if listener, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterKVServer(server, emptyKV{})
	go server.Serve(listener)
	defer server.Stop()
	for deadline := time.Now().Add(time.Minute); ; {
		if err = layouts(2 * time.Second); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("not connected again: ", err)
		}
	}
}
