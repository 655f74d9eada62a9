package filestore

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

// operated is a store whose rows a test can edit.
type operated struct{ *Store }

var (
	_ leasetest.Operator = operated{}
	_ leasetest.Ordered  = operated{}
)

// Ordered marks a store whose probes find the smallest free worker number.
func (operated) Ordered() {}

func (s operated) Delete(ctx context.Context, t lease.Terms, worker int64) error {
	return s.update(ctx, t.Namespace, func(sp *space, _ int64) bool {
		l := sp.layout(t.Layout)
		i, ok := l.search(worker)
		if ok {
			l.Rows = append(l.Rows[:i], l.Rows[i+1:]...)
		}
		return ok
	})
}

func (s operated) Edit(ctx context.Context, t lease.Terms, r lease.Row) error {
	return s.update(ctx, t.Namespace, func(sp *space, _ int64) bool {
		old := sp.layout(t.Layout).row(r.Worker)
		if old != nil {
			*old = row(r)
		}
		return old != nil
	})
}

func (s operated) DeleteNamespace(ctx context.Context, t lease.Terms) error {
	return s.update(ctx, t.Namespace, func(sp *space, _ int64) bool {
		sp.layout(t.Layout).Fingerprint = ""
		return true
	})
}

func (s operated) SetFingerprint(ctx context.Context, t lease.Terms, fingerprint string) error {
	return s.update(ctx, t.Namespace, func(sp *space, _ int64) bool {
		sp.layout(t.Layout).Fingerprint = fingerprint
		return true
	})
}

func TestStore(t *testing.T) {
	t.Parallel()
	leasetest.Run(t, func(t *testing.T) lease.Store {
		return operated{Dir(filepath.Join(memoryDir(t), "not", "there", "yet"))}
	})
}
