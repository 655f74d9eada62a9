//go:build nightly && linux && (amd64 || arm64)

package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/internal/dbtest"
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
		dbtest.NoError(t, err)
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
		pool := dbtest.Must(snowkey.Open(ctx, store, cfg))(t)
		if n := d.draw(ctx, pool, 50_000); n < 50_000 { // with renewals
			t.Errorf("drew %d ids", n)
		}
		dbtest.NoError(t, pool.Close(ctx))
	}
	dbtest.NoError(t, snowkey.Fence(ctx, store, cfg))
	dbtest.Must(snowkey.Doctor(ctx, store, cfg))(t)
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
