package healthz_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/healthz"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
	"github.com/snowkey-go/snowkey/lease/filestore"
)

func get(t *testing.T, h http.Handler) (status int, body map[string]any) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%v, %v, %s", err, w.Header(), w.Body)
	}
	return w.Code, body
}

func TestProbes(t *testing.T) {
	clock := time.Now()
	ids := errtest.Must(idgen.NewPool(idgen.Config{Worker: worker.Static(7), Clock: func() time.Time { return clock }, MaxWait: time.Second, MaxBehind: time.Minute}))(t)
	errtest.Must(ids.Next(t.Context()))(t)
	check := func(name string, ready, live int, state string, has ...string) {
		t.Helper()
		got, body := get(t, healthz.Ready(ids))
		alive, _ := get(t, healthz.Live(ids))
		if got != ready || alive != live || body["state"] != state {
			t.Errorf("%s: %d, %d, %v; want %d, %d, %s", name, got, alive, body, ready, live, state)
		}
		for _, key := range has {
			if body[key] == nil {
				t.Errorf("%s: %v has no %s", name, body, key)
			}
		}
	}
	check("at once", 200, 200, "serving", "worker", "behindSeconds")
	clock = clock.Add(-500 * time.Millisecond)
	check("after a short wait", 200, 200, "waiting")
	clock = clock.Add(-10 * time.Second)
	check("the clock is behind", 503, 200, "failing", "behindSeconds")
	if _, body := get(t, healthz.Ready(ids)); body["behindSeconds"].(float64) < 10 {
		t.Errorf("%v, want 10 seconds or more", body)
	}
	clock = clock.Add(-time.Hour)
	check("the clock is far behind", 503, 200, "down")
	errtest.NoError(t, ids.Close(t.Context()))
	check("closed", 503, 503, "closed")
	if _, body := get(t, healthz.Ready(ids)); body["worker"] != nil {
		t.Errorf("a closed pool has a worker number: %v", body)
	}
}

// Without a lease, the body says so.
func TestSuspendedPool(t *testing.T) {
	ids := errtest.Must(snowkey.Open(t.Context(), filestore.Dir(t.TempDir()), snowkey.Config{MaxClockSkew: 10 * time.Millisecond}))(t)
	defer ids.Close(t.Context())
	errtest.NoError(t, ids.Suspend(t.Context()))
	status, body := get(t, healthz.Ready(ids))
	if status != 503 || body["state"] != "unleased" || body["cause"] != "other" {
		t.Errorf("%d, %v", status, body)
	}
	if status, _ := get(t, healthz.Live(ids)); status != 200 {
		t.Errorf("the liveness probe answers %d", status)
	}
}

func TestDefaultPool(t *testing.T) {
	status, body := get(t, healthz.Ready(nil))
	if status != 503 || body["cause"] != "no_pool" {
		t.Errorf("without a pool: %d, %v", status, body)
	}
	ids := errtest.Must(idgen.NewPool(idgen.Config{Worker: worker.Static(8)}))(t)
	defer ids.Close(t.Context())
	idgen.SetDefault(ids)
	defer idgen.SetDefault(nil)
	if status, body := get(t, healthz.Ready(nil)); status != 200 || body["worker"] != 8.0 {
		t.Errorf("with a pool: %d, %v", status, body)
	}
}

// Anybody may call the probes, so they must not show errors of the database, which say where
// it is, and for whom.
func TestProbesShowNoErrorOfTheDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))) // the bubble begins in 2000
		store := new(kvtest.Memory)
		ids := errtest.Must(snowkey.Open(t.Context(), store, snowkey.Config{}))(t)
		defer ids.Close(context.Background())
		store.Fault(func(string) kvtest.Fault { return kvtest.Refuse })
		time.Sleep(time.Minute)
		if reason := ids.Health().Reason; !errors.Is(reason, kvtest.ErrFault) {
			t.Fatalf("the reason is %v", reason)
		}
		for name, probe := range map[string]http.Handler{"ready": healthz.Ready(ids), "live": healthz.Live(ids)} {
			_, body := get(t, probe)
			if text := fmt.Sprint(body); body["cause"] != "other" || strings.Contains(text, "leasetest") || strings.Contains(text, "failed") {
				t.Errorf("%s: the body is %s", name, text)
			}
		}
	})
}
