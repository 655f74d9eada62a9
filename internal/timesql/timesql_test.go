package timesql

import (
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/errtest"
)

// The functions themselves are tested in test/timesql, where the databases are.

// TestRefusals checks that a layout is refused exactly where a time can't be represented.
func TestRefusals(t *testing.T) {
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		unit    time.Duration
		epoch   time.Time
		refused map[string]string // dialect: part of the error
	}{
		{time.Millisecond, epoch, nil},
		{1500 * time.Millisecond, epoch.Add(time.Millisecond), nil},
		{time.Microsecond, epoch, map[string]string{"sqlite": "a layout whose unit is a multiple of 1ms"}},
		{time.Millisecond, epoch.Add(time.Microsecond), map[string]string{"sqlite": "a layout whose epoch is a multiple of 1ms"}},
		{100, epoch, map[string]string{"": "a layout whose unit is a multiple of"}},
		{time.Millisecond, epoch.Add(100), map[string]string{"": "a layout whose epoch is a multiple of"}},
		{time.Hour, time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC), map[string]string{"clickhouse": "no times after 2299-12-31"}},
	} {
		l := errtest.Must(idgen.NewLayout(c.epoch, c.unit, idgen.Time(20), idgen.Worker(10), idgen.Sequence(12)))(t)
		for _, dialect := range Dialects {
			want := c.refused[dialect] + c.refused[""]
			create, _, err := Statements(l, dialect)
			if want == "" && (err != nil || len(create) == 0) {
				t.Errorf("%v on %s: %v", l, dialect, err)
			}
			if want != "" && (err == nil || create != nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), l.String())) {
				t.Errorf("%v on %s: %v; want %q", l, dialect, err, want)
			}
		}
	}
}
