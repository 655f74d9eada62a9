package filestore

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

// operate returns a store whose rows a test can edit.
func operate(s *Store) kvtest.Operator {
	return kvtest.Operator{Store: s, Change: func(ctx context.Context, t lease.Terms, worker int64, change func(string) string) error {
		return s.locked(ctx, func(d *dir) error {
			sp, err := d.read(t.Namespace)
			old := ""
			if err == nil {
				old = sp.text(t.Layout, worker)
			}
			if old == "" {
				return err
			}
			sp.set(t.Layout, worker, change(old))
			return d.write(sp)
		})
	}}
}

func TestStore(t *testing.T) {
	t.Parallel()
	leasetest.Run(t, func(t *testing.T) lease.Store {
		return operate(Dir(filepath.Join(memoryDir(t), "not", "there", "yet")))
	})
}
