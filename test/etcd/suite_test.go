//go:build nightly && linux && (amd64 || arm64)

package etcd

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/etcdstore"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

// operated is a store whose keys a test can edit, as docs/etcd.md describes them.
type operated struct {
	*etcdstore.Store
	client *clientv3.Client
	prefix string
}

var _ leasetest.Operator = operated{}

func (o operated) layout(t lease.Terms) string {
	return o.prefix + url.PathEscape(t.Namespace) + "/layouts/" + url.PathEscape(t.Layout)
}

func (o operated) row(t lease.Terms, worker int64) string {
	return o.prefix + url.PathEscape(t.Namespace) + "/rows/" + url.PathEscape(t.Layout) + fmt.Sprintf("/%019d", worker)
}

func (o operated) Delete(ctx context.Context, t lease.Terms, worker int64) error {
	_, err := o.client.Delete(ctx, o.row(t, worker))
	return err
}

func (o operated) DeleteNamespace(ctx context.Context, t lease.Terms) error {
	_, err := o.client.Delete(ctx, o.layout(t))
	return err
}

func (o operated) Edit(ctx context.Context, t lease.Terms, r lease.Row) error {
	return o.edit(ctx, o.row(t, r.Worker), func(value map[string]any) {
		value["token"], value["revision"], value["bound"] = r.Token, r.Revision, r.Bound
		value["expires_at"], value["label"] = r.Expires, r.Label
	})
}

func (o operated) SetFingerprint(ctx context.Context, t lease.Terms, fingerprint string) error {
	return o.edit(ctx, o.layout(t), func(value map[string]any) { value["fingerprint"] = fingerprint })
}

// edit changes fields of a value. Numbers keep their text, since float64 can't hold
// them.
func (o operated) edit(ctx context.Context, key string, change func(map[string]any)) error {
	resp, err := o.client.Get(ctx, key)
	if err != nil || len(resp.Kvs) == 0 {
		return err
	}
	raw := make(map[string]json.RawMessage)
	if err := json.Unmarshal(resp.Kvs[0].Value, &raw); err != nil {
		return err
	}
	value := make(map[string]any)
	for name, text := range raw {
		value[name] = text
	}
	change(value)
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = o.client.Put(ctx, key, string(text))
	return err
}

// prefixes gives each store of a test binary keys of its own.
var prefixes atomic.Int64

func newPrefix() string { return fmt.Sprintf("test%d/", prefixes.Add(1)) }

func TestStore(t *testing.T) {
	c := start(t, 1)
	client := c.connect(nil)
	for name, options := range map[string][]etcdstore.Option{"hold-off": nil, "without hold-off": {etcdstore.WithoutHoldOff()}} {
		t.Run(name, func(t *testing.T) {
			leasetest.Run(t, func(t *testing.T) lease.Store {
				prefix := newPrefix()
				return operated{etcdstore.New(client, append(options, etcdstore.WithPrefix(prefix))...), client, prefix}
			})
		})
	}
}
