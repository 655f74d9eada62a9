package idgen_test

import (
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/errtest"
)

// MinID and MaxID include the ids of all workers, and of other datacenters.
func TestMinMaxID(t *testing.T) {
	for name, l := range presets(t) {
		t.Run(name, func(t *testing.T) {
			at := l.Epoch().Add(500 * 24 * time.Hour).Add(l.Unit() / 3)
			low, high := errtest.Must(l.MinID(at))(t), errtest.Must(l.MaxID(at))(t)
			first, last := l.Decode(low), l.Decode(high)
			if !first.Time.Equal(last.Time) || at.Before(first.Time) || !at.Before(first.Time.Add(l.Unit())) {
				t.Errorf("[%d, %d] is tick %v to %v, without %v", low, high, first.Time, last.Time, at)
			}
			if before := l.Decode(low - 1).Time; !before.Equal(first.Time.Add(-l.Unit())) {
				t.Errorf("MinID-1 is of %v", before)
			}
			if after := l.Decode(high + 1).Time; !after.Equal(first.Time.Add(l.Unit())) {
				t.Errorf("MaxID+1 is of %v", after)
			}
			for _, out := range []time.Time{l.Epoch().Add(-1), l.Lifetime().End} {
				_, err1 := l.MinID(out)
				_, err2 := l.MaxID(out)
				for _, err := range []error{err1, err2} {
					if err == nil || !strings.Contains(err.Error(), "is outside the layout's lifetime") {
						t.Errorf("%v gave %v", out, err)
					}
				}
			}
		})
	}
}

func TestLifetime(t *testing.T) {
	for _, tt := range []struct {
		name           string
		layout         idgen.Layout
		end, safeYears string
	}{
		{"default", idgen.DefaultLayout(), "2094-09-07T15:47:35.552Z", "2025-01-25"},
		{"js", idgen.JSSafe(), "2068-07-21T06:52:14.72Z", "2068-07-21"},
		{"discord", preset("discord"), "2084-09-06T15:47:35.552Z", "2015-01-25"},
		{"instagram", preset("instagram"), "2046-06-27T17:00:49.497Z", "2011-09-06"},
		{"baidu", preset("baidu"), "2024-11-20T13:24:16Z", "2016-05-22"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			life := tt.layout.Lifetime()
			if got := life.End.Format(time.RFC3339Nano); got != tt.end {
				t.Errorf("ends %s; want %s", got, tt.end)
			}
			if got := life.SafeEnd.Format(time.DateOnly); got != tt.safeYears {
				t.Errorf("safe until %s; want %s", got, tt.safeYears)
			}
			if !life.Start.Equal(tt.layout.Epoch()) {
				t.Errorf("starts %v", life.Start)
			}
			if tt.name == "js" {
				return // its ids are safe until the end
			}
			if id := errtest.Must(tt.layout.MaxID(life.SafeEnd.Add(-1)))(t); id > 1<<53-1 {
				t.Errorf("id %d before SafeEnd is not safe", id)
			}
			if id := errtest.Must(tt.layout.MaxID(life.SafeEnd))(t); id <= 1<<53-1 {
				t.Errorf("id %d at SafeEnd still is safe", id)
			}
		})
	}
}
