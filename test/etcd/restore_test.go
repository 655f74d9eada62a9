//go:build nightly && linux && (amd64 || arm64)

package etcd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease/etcdstore"
)

// snapshot saves a snapshot with etcdctl, and returns its file.
func (c *cluster) snapshot() string {
	c.Helper()
	file := filepath.Join(c.TempDir(), "snapshot.db")
	if text, err := program("etcdctl", "--endpoints", c.members[0].Address, "snapshot", "save", file).CombinedOutput(); err != nil {
		c.Fatalf("%v: %s", err, text)
	}
	return file
}

// restore kills the only member, and replaces its data by a snapshot, with etcdutl.
func (c *cluster) restore(file, token string) {
	c.Helper()
	m := c.members[0]
	dbtest.NoError(c, errors.Join(m.Kill(), os.RemoveAll(m.Dir)))
	text, err := program("etcdutl snapshot", "restore", file, "--name", "m0", "--data-dir", m.Dir, "--initial-cluster", c.names(),
		"--initial-cluster-token", token, "--initial-advertise-peer-urls", c.peers[0]).CombinedOutput()
	if err != nil {
		c.Fatalf("%v: %s", err, text)
	}
	dbtest.NoError(c, m.Start())
	c.ready()
}

func (c *cluster) id() uint64 {
	c.Helper()
	resp := dbtest.Must(c.connect(nil).Get(c.Context(), "x"))(c)
	return resp.Header.ClusterId
}

// A snapshot is restored while processes run. The last case is the one that
// WithoutHoldOff warns of: it shows that the test finds duplicates.
func TestRestoredSnapshot(t *testing.T) {
	for _, test := range []struct {
		name    string
		token   string // etcd-cluster is the one that the cluster has, and etcd's default
		options []etcdstore.Option
		repeats bool
	}{
		{"same cluster id", "etcd-cluster", nil, false},
		{"new cluster id", "restored", nil, false},
		{"new cluster id, without hold-off", "restored", []etcdstore.Option{etcdstore.WithoutHoldOff()}, false},
		{"same cluster id, without hold-off", "etcd-cluster", []etcdstore.Option{etcdstore.WithoutHoldOff()}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := start(t, 1)
			before := c.id()
			cfg := config(t, 6*time.Second)
			cfg.TTL = cfg.Window
			var d drawn
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()

			// When the snapshot is taken, worker 1 is held, and worker 2 is free.
			cfg.MinWorker, cfg.MaxWorker = 1, 1
			held, client := c.open(cfg, test.options...)
			d.draw(ctx, held, 64)
			if test.repeats { // otherwise this process would notice that its row is older, and raise the fence
				client.Close()
			}
			cfg.MinWorker, cfg.MaxWorker = 2, 2
			store := etcdstore.New(c.connect(nil), test.options...)
			first := dbtest.Must(snowkey.Open(ctx, store, cfg))(t)
			d.draw(ctx, first, 64)
			dbtest.NoError(t, first.Close(ctx))
			file := c.snapshot()

			// A claim is lost, with ids up to six seconds ahead of the clock. So are renewals.
			lost, client := c.open(cfg, test.options...)
			d.draw(ctx, lost, 100_000)
			client.Close() // as if the process was killed
			if !test.repeats {
				d.draw(ctx, held, 100_000)
			}
			c.restore(file, test.token)
			if same := c.id() == before; same != (test.token == "etcd-cluster") {
				t.Fatalf("the cluster has the same id: %v", same)
			}

			next := dbtest.Must(snowkey.Open(ctx, store, cfg))(t)
			defer next.Close(ctx)
			if n := d.draw(ctx, next, 100_000); n < 100_000 {
				t.Errorf("a lease that was claimed after the restore drew %d ids", n)
			}
			if !test.repeats {
				if n := d.draw(ctx, held, 100_000); n < 100_000 {
					t.Errorf("a process that held a lease before the restore drew %d ids more", n)
				}
			}
			if n := d.duplicates; (n > 0) != test.repeats {
				t.Errorf("%d duplicates of %d ids", n, len(d.ids))
			}
		})
	}
}
