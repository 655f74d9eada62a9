package snowkeyotel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/filestore"
	"github.com/snowkey-go/snowkey/lease/leasetest"
	"github.com/snowkey-go/snowkey/metrics/snowkeyotel"
)

// TestTrace checks that all spans of a lease, from its claim to its release, contain
// the result.
func TestTrace(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	provider := trace.NewTracerProvider(trace.WithSyncer(spans))
	ids := errtest.Must(snowkey.Open(t.Context(), snowkeyotel.Trace(filestore.Dir(t.TempDir()), provider), snowkey.Config{
		Namespace: "orders", Window: time.Second, MaxClockSkew: 10 * time.Millisecond, MinWorker: 5, MaxWorker: 5,
	}))(t)
	for deadline := time.Now().Add(10 * time.Second); ids.Stats().Lease.Renewals == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no renewal")
		}
	}
	errtest.NoError(t, ids.Close(t.Context()))
	var names []string
	for _, s := range spans.GetSpans() {
		names = append(names, s.Name)
		attributes := make(map[string]string)
		for _, a := range s.Attributes {
			attributes[string(a.Key)] = a.Value.Emit()
		}
		if got := fmt.Sprint(attributes); got != "map[snowkey.lease.granted:true snowkey.namespace:orders snowkey.worker.number:5]" || s.Status.Code != codes.Unset {
			t.Errorf("%s: %s, %v", s.Name, got, s.Status)
		}
		if !s.EndTime.After(s.StartTime) {
			t.Errorf("%s took no time", s.Name)
		}
	}
	names = slices.Compact(names)
	if want := []string{"snowkey.lease.claim", "snowkey.lease.renew", "snowkey.lease.release"}; !slices.Equal(names, want) {
		t.Errorf("the spans are %q, want %q", names, want)
	}
}

type brokenStore struct{ lease.Store }

var errBroken = errors.New("broken")

func (brokenStore) Renew(context.Context, lease.Renewal) (lease.Row, bool, error) {
	return lease.Row{}, false, errBroken
}

func TestTraceOfAnError(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	s := snowkeyotel.Trace(brokenStore{filestore.Dir(t.TempDir())}, trace.NewTracerProvider(trace.WithSyncer(spans)))
	if _, _, err := s.Renew(t.Context(), lease.Renewal{Held: lease.Row{Worker: 7}}); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	all := spans.GetSpans()
	if len(all) != 1 || all[0].Status.Code != codes.Error || all[0].Status.Description != "broken" || len(all[0].Events) != 1 {
		t.Errorf("%+v", all)
	}
}

// TestSuite checks that a traced store still behaves like any other store.
func TestSuite(t *testing.T) {
	provider := trace.NewTracerProvider()
	leasetest.Run(t, func(t *testing.T) lease.Store { return snowkeyotel.Trace(new(kvtest.Memory), provider) })
}
