package idgen_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

func TestDownPastMaxBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		clock := newClock()
		pool := newPool(t, idgen.Config{Clock: clock.Now, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		mustNext(t, pool)
		for episode := 1; episode <= 2; episode++ {
			clock.step(-61 * time.Second)
			for range 3 {
				if _, err := pool.Next(t.Context()); err == nil {
					t.Fatal("a call went through while the clock was 61 s behind")
				}
			}
			h := pool.Health()
			if h.State != idgen.Down || (h.Behind-61*time.Second).Abs() > 20*time.Millisecond {
				t.Errorf("health %+v; want down by 61 s", h)
			}
			if got := strings.Count(log.String(), "down until the clock has caught up"); got != episode {
				t.Errorf("episode %d: %d log lines", episode, got)
			}
			time.Sleep(61 * time.Second)
			mustNext(t, pool)
			if h := pool.Health(); h.State != idgen.Serving || h.Behind > 10*time.Millisecond {
				t.Errorf("health %+v after the clock is back", h)
			}
		}
	})
}

func TestWarnsBeforeTheEnd(t *testing.T) {
	for _, tt := range []struct {
		years int
		warns bool
	}{{-6, false}, {-4, true}} {
		t.Run(fmt.Sprint(-tt.years, " years"), func(t *testing.T) {
			var log bytes.Buffer
			clock := holdClock(idgen.DefaultLayout().Lifetime().End.AddDate(tt.years, 0, 0))
			pool := newPool(t, idgen.Config{Clock: clock.Now, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			h := pool.Health()
			if h.Expiring != tt.warns || strings.Contains(log.String(), "nearly used up") != tt.warns {
				t.Errorf("%d years: health %+v, log %q", tt.years, h, log.String())
			}
			if want := time.Duration(-tt.years) * 365 * 24 * time.Hour; (h.Remaining - want).Abs() > 72*time.Hour {
				t.Errorf("%d years: %v remain", tt.years, h.Remaining)
			}
		})
	}
}

func TestStateString(t *testing.T) {
	if got := fmt.Sprint(idgen.Serving, idgen.Waiting, idgen.Failing, idgen.Down, idgen.Exhausted, idgen.Closed, idgen.State(99)); got != "serving waiting failing down exhausted closed State(99)" {
		t.Error(got)
	}
}
