package snowkey_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
	"github.com/snowkey-go/snowkey/lease"
)

func TestDoctor(t *testing.T) {
	edit := func(change func(*lease.Row)) func(t *testing.T, store *kvtest.Memory) {
		return func(t *testing.T, store *kvtest.Memory) {
			rows := errtest.Must(store.Rows(t.Context(), terms(t), 0, 15))(t)
			change(&rows[0])
			errtest.NoError(t, store.Edit(t.Context(), terms(t), rows[0]))
		}
	}
	const tick = 1 << 12 // counters in a millisecond
	for _, tt := range []struct {
		name string
		harm func(t *testing.T, store *kvtest.Memory)
		cfg  snowkey.Config
		want string
	}{
		{name: "nothing", harm: func(*testing.T, *kvtest.Memory) {}},
		{name: "the largest bound that is granted", harm: edit(func(r *lease.Row) { r.Bound = r.Now/1000*tick - epochTicks(t)*tick + 12_001*tick })},
		{name: "a bound of next year", harm: edit(func(r *lease.Row) { r.Bound += 365 * 24 * 3600 * 1000 * tick }), want: "bound-ahead"},
		{name: "a lease for ever", harm: edit(func(r *lease.Row) { r.Expires = 1 << 60 }), want: "expires-ahead"},
		{name: "clocks", harm: func(*testing.T, *kvtest.Memory) {}, want: "clock",
			cfg: snowkey.Config{Clock: func() time.Time { return time.Now().Add(-2 * time.Second) }}},
		{name: "a store that forgets", harm: func(_ *testing.T, s *kvtest.Memory) { s.SetVolatile(true) }, want: "volatile"},
		{name: "another database", harm: func(_ *testing.T, s *kvtest.Memory) { s.SetCurrent("promoted") }, want: "history"},
		{name: "few workers", harm: func(*testing.T, *kvtest.Memory) {}, want: "crowded", cfg: snowkey.Config{MaxWorker: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &kvtest.Memory{}
				if _, err := snowkey.Doctor(t.Context(), store, snowkey.Config{Layout: layout(t)}); err == nil {
					t.Error("a namespace that is not there was examined")
				} else if !errors.Is(err, lease.ErrNoNamespace) {
					t.Errorf("a namespace that is not there: %v", err)
				}
				for range 2 { // two pools, so that both workers are leased for the case "crowded"
					open(t, store, snowkey.Config{MaxWorker: 1})
				}
				time.Sleep(time.Minute)
				tt.harm(t, store)
				tt.cfg.Layout = layout(t)
				found := errtest.Must(snowkey.Doctor(t.Context(), store, tt.cfg))(t)
				var kinds []string
				for _, f := range found {
					kinds = append(kinds, f.Kind)
					if f.Text == "" || f.Remedy == "" || strings.Contains(f.Text+f.Remedy, "%!") {
						t.Errorf("a finding says %q", f)
					}
				}
				if got := strings.Join(slices.Compact(kinds), " "); got != tt.want {
					t.Errorf("found %v, want %q", found, tt.want)
				}
			})
		})
	}
}

// epochTicks returns the number of ticks from 1970 to the layout's epoch.
func epochTicks(t *testing.T) int64 { return layout(t).Epoch().UnixMilli() }

func TestDoctorWithoutAStore(t *testing.T) {
	store := &kvtest.Memory{}
	store.Fault(func(string) kvtest.Fault { return kvtest.Refuse })
	_, err := snowkey.Doctor(context.Background(), store, snowkey.Config{})
	if e, ok := errors.AsType[*lease.StoreError](err); !ok || e.Op != "probe" {
		t.Errorf("a store that fails: %v", err)
	}
	_, err = snowkey.Doctor(context.Background(), store, snowkey.Config{Window: 1})
	if err == nil || !strings.Contains(err.Error(), "Config.Window 1ns is less than a second") {
		t.Errorf("a window of 1 ns: %v", err)
	}
}
