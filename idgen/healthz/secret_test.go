package healthz_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen/healthz"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

// errUnreachable is an error of a database driver, with what an attacker would like to know.
var errUnreachable = errors.New("failed to connect to `user=shop database=orders`: 10.0.0.5:5432 (db.internal): connection refused")

// A failingStore is a store whose database can become unreachable.
type failingStore struct {
	*leasetest.Memory
	down atomic.Bool
}

func (s *failingStore) Renew(ctx context.Context, r lease.Renewal) (lease.Row, bool, error) {
	if s.down.Load() {
		return lease.Row{}, false, errUnreachable
	}
	return s.Memory.Renew(ctx, r)
}

func (s *failingStore) Probe(ctx context.Context, q lease.Query) (lease.Probe, error) {
	if s.down.Load() {
		return lease.Probe{}, errUnreachable
	}
	return s.Memory.Probe(ctx, q)
}

// Anybody may call the probes, so they must not show where the database is, and for whom.
func TestProbesShowNoErrorOfTheDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))) // the bubble begins in 2000
		store := &failingStore{Memory: new(leasetest.Memory)}
		ids := errtest.Must(snowkey.Open(t.Context(), store, snowkey.Config{}))(t)
		defer ids.Close(context.Background())
		store.down.Store(true)
		for waited := 0; !errors.Is(ids.Health().Reason, errUnreachable); waited++ {
			if waited == 100 {
				t.Fatalf("the pool is %+v", ids.Health())
			}
			time.Sleep(time.Second)
		}
		for name, probe := range map[string]http.Handler{"ready": healthz.Ready(ids), "live": healthz.Live(ids)} {
			w := httptest.NewRecorder()
			probe.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
			text := w.Body.String()
			for _, secret := range []string{"shop", "orders", "10.0.0.5", "5432", "db.internal"} {
				if strings.Contains(text, secret) {
					t.Errorf("%s: the body has %s: %s", name, secret, text)
				}
			}
			if !strings.Contains(text, `"cause":"other"`) {
				t.Errorf("%s: the body has no cause: %s", name, text)
			}
		}
	})
}
