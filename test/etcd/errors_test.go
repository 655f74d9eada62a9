//go:build nightly && linux && (amd64 || arm64)

package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
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

// The role of an application needs one range of keys, and nothing else.
func TestRole(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	root := c.connect(nil)
	ctx := t.Context()
	for _, name := range []string{"root", "app", "other"} {
		dbtest.Must(root.UserAdd(ctx, name, password))(t)
		dbtest.Must(root.RoleAdd(ctx, name))(t)
		dbtest.Must(root.UserGrantRole(ctx, name, name))(t)
	}
	for name, prefix := range map[string]string{"app": "snowkey/", "other": "other/"} {
		dbtest.Must(root.RoleGrantPermission(ctx, name, prefix, clientv3.GetPrefixRangeEnd(prefix), clientv3.PermissionType(clientv3.PermReadWrite)))(t)
	}
	dbtest.Must(root.AuthEnable(ctx))(t)
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
	s := member("--auto-tls")
	serve := s.Serve
	s.Serve = func(env []string, dir string, port int) []string {
		url := fmt.Sprint("https://127.0.0.1:", port)
		return append(serve(env, dir, port), "--listen-client-urls", url, "--advertise-client-urls", url)
	}
	c := &cluster{TB: t, members: []*dbtest.Process{s.Start(t)}}
	with := func(settings *tls.Config) *clientv3.Client {
		return c.connect(func(cfg *clientv3.Config) {
			cfg.Endpoints, cfg.TLS = []string{"https://" + c.members[0].Address}, settings
		})
	}
	client := with(&tls.Config{InsecureSkipVerify: true})
	dbtest.NoError(t, dbtest.Within(30*time.Second, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := client.Get(ctx, "x")
		return err
	}))
	permanent(t, with(new(tls.Config)), "x509", "certificates")
}
