package snowkeyotel_test

import (
	"context"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/idgen/segment/segmenttest"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/lease/filestore"
	"github.com/snowkey-go/snowkey/metrics/snowkeyotel"
)

// collect returns all measurements, by the name of the instrument and the values of the
// attributes. It also returns the units of the instruments.
func collect(t *testing.T, reader metric.Reader) (values map[string]float64, units map[string]string) {
	t.Helper()
	var data metricdata.ResourceMetrics
	errtest.NoError(t, reader.Collect(context.Background(), &data))
	values, units = make(map[string]float64), make(map[string]string)
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			units[m.Name] = m.Unit
			add := func(attributes attribute.Set, n float64) {
				name := []string{m.Name}
				for _, a := range attributes.ToSlice() {
					name = append(name, a.Value.Emit())
				}
				values[strings.Join(name, " ")] = n
			}
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					add(p.Attributes, float64(p.Value))
				}
			case metricdata.Sum[float64]:
				for _, p := range d.DataPoints {
					add(p.Attributes, p.Value)
				}
			case metricdata.Gauge[int64]:
				for _, p := range d.DataPoints {
					add(p.Attributes, float64(p.Value))
				}
			case metricdata.Gauge[float64]:
				for _, p := range d.DataPoints {
					add(p.Attributes, p.Value)
				}
			default:
				t.Errorf("%s has %T", m.Name, d)
			}
		}
	}
	return values, units
}

func expect(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for name, n := range want {
		if value, ok := got[name]; !ok || value != n {
			t.Errorf("%s is %v (%v), want %v", name, value, ok, n)
		}
	}
}

// documented returns the units of the instruments that are listed in the package
// documentation.
func documented(t *testing.T, segments bool) map[string]string {
	t.Helper()
	text := errtest.Must(os.ReadFile("collector.go"))(t)
	units := make(map[string]string)
	for _, m := range regexp.MustCompile(`(?m)^//\t(snowkey(\.segment)?[a-z.]+) +(\S+)`).FindAllStringSubmatch(string(text), -1) {
		if (m[2] != "") == segments {
			units[m[1]] = m[3]
		}
	}
	return units
}

func TestPool(t *testing.T) {
	ids := errtest.Must(snowkey.Open(t.Context(), filestore.Dir(t.TempDir()), snowkey.Config{Window: time.Second, MaxClockSkew: 10 * time.Millisecond, MinWorker: 5, MaxWorker: 5}))(t)
	reader := metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	registration := errtest.Must(snowkeyotel.Register(provider, ids, attribute.String("pool", "p")))(t)
	errtest.Must(ids.NextN(t.Context(), 3))(t)
	errtest.Must(ids.Named("orders").Next(t.Context()))(t)
	got, units := collect(t, reader)
	expect(t, got, map[string]float64{
		"snowkey.ids.issued p": 4, "snowkey.names p": 2, "snowkey.state p serving": 1, "snowkey.state p unleased": 0, "snowkey.worker.number p": 5,
		"snowkey.lease.claims p": 1, "snowkey.lease.losses p": 0, "snowkey.lease.renewals p failed": 0, "snowkey.clock.errors p": 0, "snowkey.waits p clock": 0,
	})
	if w := got["snowkey.lease.window p"]; w <= 0 || w > 2 {
		t.Errorf("the window is %v s", w)
	}
	if years := got["snowkey.layout.remaining p"] / 3600 / 24 / 365; years < 60 || years > 70 {
		t.Errorf("the layout lasts %v years", years)
	}
	if want := documented(t, false); !maps.Equal(units, want) {
		t.Errorf("there are %v, and documented are %v", units, want)
	}

	errtest.NoError(t, ids.Suspend(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := ids.Next(ctx); err == nil {
		t.Error("a suspended pool has issued an id")
	}
	got, _ = collect(t, reader)
	expect(t, got, map[string]float64{"snowkey.state p unleased": 1, "snowkey.lease.window p": 0, "snowkey.waits p lease": 1, "snowkey.ids.issued p": 4})
	if _, ok := got["snowkey.worker.number p"]; ok || got["snowkey.wait.duration p lease"] <= 0 {
		t.Errorf("of a suspended pool: %v", got)
	}
	errtest.NoError(t, ids.Close(t.Context()))
	errtest.NoError(t, registration.Unregister())
	if got, _ := collect(t, reader); len(got) > 0 {
		t.Errorf("after Unregister: %v", got)
	}
}

// TestDefaultPool checks that without a pool, nothing is measured until the process has
// a default pool.
func TestDefaultPool(t *testing.T) {
	reader := metric.NewManualReader()
	errtest.Must(snowkeyotel.Register(metric.NewMeterProvider(metric.WithReader(reader)), nil))(t)
	if got, _ := collect(t, reader); len(got) > 0 {
		t.Errorf("without a pool: %v", got)
	}
	ids := errtest.Must(idgen.NewPool(idgen.Config{Worker: worker.Static(2)}))(t)
	defer ids.Close(t.Context())
	idgen.SetDefault(ids)
	defer idgen.SetDefault(nil)
	got, units := collect(t, reader)
	expect(t, got, map[string]float64{"snowkey.names": 1, "snowkey.ids.issued": 0})
	for name := range units {
		if regexp.MustCompile(`lease|worker`).MatchString(name) {
			t.Errorf("%s is about a lease", name)
		}
	}
}

func TestSegment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(segmenttest.Memory)
		store.Fault(func() segmenttest.Fault { time.Sleep(time.Millisecond); return segmenttest.None }) // so the first call waits
		s := errtest.Must(segment.New(store, segment.Config{Name: "invoices", MinValue: 1, MinStep: 10, MaxValue: 1000}))(t)
		reader := metric.NewManualReader()
		errtest.Must(snowkeyotel.RegisterSegment(metric.NewMeterProvider(metric.WithReader(reader)), s))(t)
		errtest.Must(s.Append(t.Context(), nil, 7))(t)
		// Otherwise, fetches would continue in the background until enough numbers are
		// ready.
		errtest.NoError(t, s.Close(t.Context()))
		got, units := collect(t, reader)
		expect(t, got, map[string]float64{
			"snowkey.segment.issued": 7, "snowkey.segment.ready": 0, "snowkey.segment.waits": 1, "snowkey.segment.remaining": float64(s.Health().Remaining),
			"snowkey.segment.fetches ok": float64(s.Stats().Fetches), "snowkey.segment.fetches failed": float64(s.Stats().Failures),
			"snowkey.segment.fetch.duration": s.Stats().FetchTime.Seconds(),
		})
		if s.Stats().Fetches == 0 || got["snowkey.segment.wait.duration"] <= 0 {
			t.Errorf("%+v, %v", s.Stats(), got)
		}
		if want := documented(t, true); !maps.Equal(units, want) {
			t.Errorf("there are %v, and documented are %v", slices.Sorted(maps.Keys(units)), slices.Sorted(maps.Keys(want)))
		}
	})
}
