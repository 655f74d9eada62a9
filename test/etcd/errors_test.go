//go:build nightly && linux && (amd64 || arm64)

package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/etcdstore"
)

// permanent fails the test unless Open returns a PermanentError soon, with these words
// and without the password.
func permanent(t *testing.T, client *clientv3.Client, words ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := snowkey.Open(ctx, etcdstore.New(client), config(t, time.Second))
	if _, ok := errors.AsType[*lease.PermanentError](err); !ok {
		t.Fatalf("got %v, want a PermanentError", err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not contain %q", err, word)
		}
	}
	if strings.Contains(err.Error(), password) {
		t.Errorf("%v contains the password", err)
	}
}

const password = "a secret password"

func do[T any](t *testing.T) func(T, error) {
	return func(_ T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The role of an application needs one range of keys, and nothing else.
func TestRole(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	root := c.connect(nil)
	ctx := t.Context()
	for _, name := range []string{"root", "app", "other"} {
		do[*clientv3.AuthUserAddResponse](t)(root.UserAdd(ctx, name, password))
		do[*clientv3.AuthRoleAddResponse](t)(root.RoleAdd(ctx, name))
		do[*clientv3.AuthUserGrantRoleResponse](t)(root.UserGrantRole(ctx, name, name))
	}
	for name, prefix := range map[string]string{"app": "snowkey/", "other": "other/"} {
		do[*clientv3.AuthRoleGrantPermissionResponse](t)(root.RoleGrantPermission(ctx, name, prefix, clientv3.GetPrefixRangeEnd(prefix), clientv3.PermissionType(clientv3.PermReadWrite)))
	}
	do[*clientv3.AuthEnableResponse](t)(root.AuthEnable(ctx))
	as := func(name string) *clientv3.Client {
		return c.connect(func(cfg *clientv3.Config) { cfg.Username, cfg.Password = name, password })
	}

	cfg := config(t, time.Second)
	store := etcdstore.New(as("app"))
	var d drawn
	for range 2 {
		pool, err := snowkey.Open(ctx, store, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if n := d.draw(ctx, pool, 50_000); n < 50_000 { // with renewals
			t.Errorf("drew %d ids", n)
		}
		if err := pool.Close(ctx); err != nil {
			t.Error(err)
		}
	}
	if err := snowkey.Fence(ctx, store, cfg); err != nil {
		t.Error(err)
	}
	if _, err := snowkey.Doctor(ctx, store, cfg); err != nil {
		t.Error(err)
	}
	permanent(t, as("other"), "permission denied", "grant-permission")
	permanent(t, c.connect(nil), "user name is empty", "Username")
}

func TestUnknownCertificate(t *testing.T) {
	t.Parallel()
	c := &cluster{t: t}
	m := &member{name: "m0", dir: t.TempDir() + "/data", client: freeAddress(t), peer: freeAddress(t)}
	c.members = []*member{m}
	t.Cleanup(m.kill)
	c.run(m, "--auto-tls", "--listen-client-urls", "https://"+m.client, "--advertise-client-urls", "https://"+m.client)
	client := c.connect(func(cfg *clientv3.Config) {
		cfg.Endpoints, cfg.TLS = []string{"https://" + m.client}, &tls.Config{InsecureSkipVerify: true}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		if _, err := client.Get(ctx, "x"); err == nil {
			break
		} else if ctx.Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	permanent(t, c.connect(func(cfg *clientv3.Config) {
		cfg.Endpoints, cfg.TLS = []string{"https://" + m.client}, &tls.Config{}
	}), "x509", "certificates")
}

// If etcd is out of space, Open fails, and a running pool goes on once there is space.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	c := start(t, 1, "--quota-backend-bytes", "2000000")
	client := c.connect(nil)
	pool, _ := c.open(config(t, time.Second))
	for full := strings.Repeat("x", 100_000); ; {
		if _, err := client.Put(t.Context(), "full", full); err != nil {
			break
		}
	}
	permanent(t, client, "space exceeded", "disarm")

	resp, err := client.Get(t.Context(), "full")
	if err != nil {
		t.Fatal(err)
	}
	do[*clientv3.CompactResponse](t)(client.Compact(t.Context(), resp.Header.Revision, clientv3.WithCompactPhysical()))
	do[*clientv3.DefragmentResponse](t)(client.Defragment(t.Context(), c.members[0].client))
	do[*clientv3.AlarmResponse](t)(client.AlarmDisarm(t.Context(), &clientv3.AlarmMember{}))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var d drawn
	if n := d.draw(ctx, pool, 100_000); n < 100_000 || d.found() > 0 {
		t.Errorf("drew %d ids, with %d duplicates", n, d.found())
	}
}

// A member that limits requests to less than Snowkey needs is reported when Open adds its
// rows, before any id is issued.
func TestLimitsOfTheServer(t *testing.T) {
	t.Parallel()
	for _, limit := range []struct{ flag, value, text string }{
		{"--max-request-bytes", "2000", "request is too large"},
		{"--max-txn-ops", "10", "too many operations"},
	} {
		t.Run(limit.flag, func(t *testing.T) {
			t.Parallel()
			c := start(t, 1, limit.flag, limit.value)
			client := c.connect(nil)
			permanent(t, client, limit.text, limit.flag)
			resp, err := client.Get(t.Context(), "snowkey/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
			if err != nil {
				t.Fatal(err)
			}
			for _, kv := range resp.Kvs {
				if strings.Contains(string(kv.Key), "/rows/") {
					t.Errorf("Open has written %q", kv.Key)
				}
			}
		})
	}
}

// A member that gets requests faster than it executes them refuses some of them. Open
// and a running pool try again. The test also executes some of the refused requests, which
// etcd doesn't.
func TestTooManyRequests(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	var executed atomic.Int64
	var share atomic.Int64 // of the requests that are refused, in percent
	client := c.connect(func(cfg *clientv3.Config) {
		cfg.DialOptions = append(cfg.DialOptions, grpc.WithChainUnaryInterceptor(
			func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, send grpc.UnaryInvoker, opts ...grpc.CallOption) error {
				if rand.Int64N(100) >= share.Load() {
					return send(ctx, method, req, reply, conn, opts...)
				}
				if rand.IntN(2) == 0 {
					executed.Add(1)
					if err := send(ctx, method, req, reply, conn, opts...); err != nil {
						return err
					}
				}
				return rpctypes.ErrGRPCRequestTooManyRequests
			}))
	})
	cfg := config(t, time.Second)
	share.Store(25)
	var d drawn
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		pool, err := snowkey.Open(ctx, etcdstore.New(client), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if n := d.draw(ctx, pool, 50_000); n < 50_000 {
			t.Errorf("drew %d ids", n)
		}
		pool.Close(ctx) // may fail, so that the row stays leased
		cancel()
	}
	if n := d.found(); n > 0 || executed.Load() == 0 {
		t.Errorf("%d duplicates, %d requests executed", n, executed.Load())
	}

	share.Store(100)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	_, err := snowkey.Open(ctx, etcdstore.New(client), cfg)
	if !errors.Is(err, rpctypes.ErrTooManyRequests) {
		t.Errorf("got %v", err)
	}
	if _, ok := errors.AsType[*lease.PermanentError](err); ok {
		t.Errorf("%v is a PermanentError", err)
	}
}
