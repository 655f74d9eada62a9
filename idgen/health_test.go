package idgen_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

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
