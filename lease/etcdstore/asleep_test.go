package etcdstore

import (
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowkey-go/snowkey/internal/errtest"
)

// A machine sleeps for an hour, while its monotonic clock stands still, and the cluster is
// restored to a snapshot from before. The process must not go on with the time that it had
// before, since others may have granted ids in that hour.
func TestAsleep(t *testing.T) {
	client := errtest.Must(clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:1"}}))(t)
	defer client.Close()
	for _, restored := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeEtcd{}
			client.KV, client.Lease = f, f
			h := newHost(client, 0)
			errtest.Must(h.grant(t.Context(), f, (*agreed).observe))(t)
			h.offset = time.Hour // how the sleep looks to the process: only the wall clock has gone on
			if restored {
				f.newLeader()
			} else { // another process went on
				f.mu.Lock()
				f.time += time.Hour.Microseconds()
				f.mu.Unlock()
			}
			now := errtest.Must(h.grant(t.Context(), f, (*agreed).observe))(t)
			if behind := h.store.clock().Sub(time.UnixMicro(now)); behind.Abs() > testSkew {
				t.Errorf("restored %v: the agreed time is %v behind", restored, behind)
			}
		})
	}
}
