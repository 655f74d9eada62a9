package snowkeyprom_test

import (
	"context"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/idgen/segment/segmenttest"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/lease/filestore"
	"github.com/snowkey-go/snowkey/metrics/snowkeyprom"
)

// scrape returns the series that Prometheus would read from the collector, and their
// values.
func scrape(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	errtest.NoError(t, registry.Register(c))
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	series := make(map[string]float64)
	for line := range strings.Lines(answer.Body.String()) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name != "#" {
			var n float64
			if _, err := fmt.Sscan(value, &n); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			series[name] = n
		}
	}
	return series
}

func TestLeasedPool(t *testing.T) {
	store := filestore.Dir(t.TempDir())
	ids := errtest.Must(snowkey.Open(t.Context(), store, snowkey.Config{Window: time.Second, MaxClockSkew: 10 * time.Millisecond, MinWorker: 5, MaxWorker: 5}))(t)
	errtest.Must(ids.NextN(t.Context(), 3))(t)
	errtest.Must(ids.Named("orders").Next(t.Context()))(t)
	c := snowkeyprom.NewCollector(ids)
	problems, err := testutil.CollectAndLint(c)
	if err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v, %v", problems, err)
	}
	got := scrape(t, c)
	for name, want := range map[string]float64{
		"snowkey_ids_issued_total": 4, "snowkey_names": 2, `snowkey_state{state="serving"}`: 1, `snowkey_state{state="unleased"}`: 0,
		"snowkey_worker_number": 5, "snowkey_lease_claims_total": 1, "snowkey_lease_losses_total": 0, `snowkey_lease_renewals_total{result="failed"}`: 0,
		"snowkey_clock_errors_total": 0,
	} {
		if n, ok := got[name]; !ok || n != want {
			t.Errorf("%s is %v (%v), want %v", name, n, ok, want)
		}
	}
	if w := got["snowkey_lease_window_seconds"]; w <= 0 || w > 2 {
		t.Errorf("the window is %v s", w)
	}
	if years := got["snowkey_layout_remaining_seconds"] / 3600 / 24 / 365; years < 60 || years > 70 {
		t.Errorf("the layout lasts %v years", years)
	}
	for deadline := time.Now().Add(10 * time.Second); got[`snowkey_lease_renewals_total{result="ok"}`] == 0; got = scrape(t, c) {
		if time.Now().After(deadline) {
			t.Fatal("no renewal was counted")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got["snowkey_lease_renewal_seconds_count"] == 0 || got["snowkey_lease_renewal_seconds_sum"] <= 0 {
		t.Errorf("the summary of renewals is %v of %v s", got["snowkey_lease_renewal_seconds_count"], got["snowkey_lease_renewal_seconds_sum"])
	}

	errtest.NoError(t, ids.Suspend(t.Context()))
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if _, err := ids.Next(ctx); err == nil {
		t.Error("a suspended pool has issued an id")
	}
	got = scrape(t, c)
	if years := got["snowkey_layout_remaining_seconds"] / 3600 / 24 / 365; years < 60 {
		t.Errorf("without a lease, the layout lasts %v years", years)
	}
	if _, ok := got["snowkey_worker_number"]; ok || got[`snowkey_state{state="unleased"}`] != 1 || got["snowkey_lease_window_seconds"] != 0 ||
		got[`snowkey_waits_total{for="lease"}`] != 1 || got[`snowkey_wait_seconds_total{for="lease"}`] <= 0 || got["snowkey_ids_issued_total"] != 4 {
		t.Errorf("of a suspended pool: %v", got)
	}
	errtest.NoError(t, ids.Close(t.Context()))
	if got := scrape(t, c); got[`snowkey_state{state="closed"}`] != 1 || got["snowkey_ids_issued_total"] != 4 {
		t.Errorf("of a closed pool: %v", got)
	}
}

// TestDefaultPool checks that without a pool, there are no series until the process has
// a default pool.
func TestDefaultPool(t *testing.T) {
	c := snowkeyprom.NewCollector(nil)
	if got := scrape(t, c); len(got) > 0 {
		t.Errorf("without a pool: %v", got)
	}
	ids := errtest.Must(idgen.NewPool(idgen.Config{Worker: worker.Static(2)}))(t)
	defer ids.Close(t.Context())
	idgen.SetDefault(ids)
	defer idgen.SetDefault(nil)
	got := scrape(t, c)
	if got["snowkey_names"] != 1 {
		t.Errorf("with a pool: %v", got)
	}
	for name := range got {
		if strings.Contains(name, "lease_") || strings.Contains(name, "worker") {
			t.Errorf("%s is about a lease", name)
		}
	}
}

func TestSegment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(segmenttest.Memory)
		store.Fault(func() segmenttest.Fault { time.Sleep(time.Millisecond); return segmenttest.None }) // so the first call waits
		s := errtest.Must(segment.New(store, segment.Config{Name: "invoices", MinValue: 1, MinStep: 10, MaxValue: 1000}))(t)
		errtest.Must(s.Append(t.Context(), nil, 7))(t)
		c := snowkeyprom.NewSegmentCollector(s)
		problems, err := testutil.CollectAndLint(c)
		if err != nil || len(problems) > 0 {
			t.Errorf("promlint: %v, %v", problems, err)
		}
		// Otherwise, fetches would continue in the background until enough numbers are
		// ready.
		errtest.NoError(t, s.Close(t.Context()))
		got := scrape(t, c)
		stats := s.Stats()
		for name, want := range map[string]float64{
			"snowkey_segment_issued_total": 7, "snowkey_segment_ready": 0, "snowkey_segment_waits_total": 1,
			`snowkey_segment_fetches_total{result="ok"}`: float64(stats.Fetches), "snowkey_segment_fetch_seconds_count": float64(stats.Fetches + stats.Failures),
			"snowkey_segment_remaining": float64(s.Health().Remaining),
		} {
			if n, ok := got[name]; !ok || n != want {
				t.Errorf("%s is %v (%v), want %v", name, n, ok, want)
			}
		}
		if stats.Fetches == 0 || got["snowkey_segment_wait_seconds_total"] <= 0 {
			t.Errorf("%+v, %v", stats, got)
		}
	})
}

// TestDocumentation checks that the package documentation lists exactly the metrics
// that the collectors export.
func TestDocumentation(t *testing.T) {
	text := errtest.Must(os.ReadFile("collector.go"))(t)
	documented := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^//\t(snowkey_[a-z_]+)`).FindAllStringSubmatch(string(text), -1) {
		documented[m[1]] = true
	}
	descriptions := make(chan *prometheus.Desc, 100)
	snowkeyprom.NewCollector(nil).Describe(descriptions)
	snowkeyprom.NewSegmentCollector(nil).Describe(descriptions)
	close(descriptions)
	described := make(map[string]bool)
	for d := range descriptions {
		described[regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(d.String())[1]] = true
	}
	if !maps.Equal(documented, described) {
		t.Errorf("documented are %v, and there are %v", slices.Sorted(maps.Keys(documented)), slices.Sorted(maps.Keys(described)))
	}
}
