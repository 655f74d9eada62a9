package idgen_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/errtest"
)

func checkParsesBack(t *testing.T, l idgen.Layout) {
	t.Helper()
	got, err := idgen.ParseLayout(l.String())
	if err != nil || !reflect.DeepEqual(got, l) {
		t.Fatalf("%v\ncame back as\n%v, %v", l, got, err)
	}
}

func TestParseLayoutIsTheInverseOfString(t *testing.T) {
	for _, l := range presets(t) {
		if all := width(l) == 64; strings.HasPrefix(l.String(), "0:") == all {
			t.Errorf("a layout of %d bits is written as %s", width(l), l)
		}
		checkParsesBack(t, l)
	}
	checkParsesBack(t, errtest.Must(idgen.DefaultLayout().WithEpoch(time.Now()))(t)) // time.Now has a monotonic reading, which is not part of the text
	checkParsesBack(t, errtest.Must(idgen.NewLayout(time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC), math.MaxInt64, idgen.Time(1), idgen.Sequence(1)))(t))
	// A fixed field can have the name of another field, or even of the unused bits.
	checkParsesBack(t, errtest.Must(idgen.NewLayout(epoch, time.Millisecond,
		idgen.Fixed("0", 1, 0), idgen.Time(41), idgen.Fixed("worker", 5, 3), idgen.Fixed("rollback", 5, 4), idgen.Sequence(12)))(t))
	r := rand.New(rand.NewPCG(7, 8))
	for range 5000 {
		l, err := randomLayout(r)
		if err != nil {
			continue
		}
		// Try other names, values and units than those that randomLayout chooses.
		fields := l.Fields()
		for i, f := range fields {
			if f.Fixed {
				name := string(rune('a'+i)) + randomName(r)
				fields[i] = idgen.Fixed(name, f.Bits, r.Int64()>>1>>(63-f.Bits))
			}
		}
		l, err = idgen.NewLayout(l.Epoch(), l.Unit()+time.Duration(r.Int64N(1<<r.IntN(40))), fields...)
		if err != nil {
			continue
		}
		checkParsesBack(t, l)
	}
}

// randomName returns a name made of random parts that are special in the text of a
// layout.
func randomName(r *rand.Rand) string {
	parts := []string{"=", " = ", " ", "0", "time", "worker", "×", " × ", " since ", "1ms", "\n", "é", "\xe2", "\x94"}
	var b strings.Builder
	for range r.IntN(6) {
		b.WriteString(parts[r.IntN(len(parts))])
	}
	return b.String()
}

func TestParseLayoutRefuses(t *testing.T) {
	const text = "0:1 │ time:41 × 1ms since 2025-01-01T00:00:00Z │ region:4 = 3 │ worker:6 │ sequence:12"
	errtest.Must(idgen.ParseLayout(text))(t)
	swap := func(old, by string) string { return strings.Replace(text, old, by, 1) }
	for _, tt := range []struct{ text, want string }{
		{"", "unchanged"},
		{"nonsense", "unchanged"},
		{swap("│ worker", "| worker"), "unchanged"},
		{swap("worker:6", "worker"), "invalid syntax"},
		{swap("worker:6", "node:6"), "use idgen.Fixed"},
		{swap("worker:6", "worker:6 = x"), "invalid syntax"},
		{swap("worker:6", "worker:0"), "leave the field out"},
		{swap("worker:6", "worker:60"), "63 bits"},
		{swap(" │ sequence:12", ""), "add idgen.Sequence"},
		{swap("1ms", "1 ms"), "unknown unit"},
		{swap("2025-01-01T", "2025-01-01 "), "cannot parse"},
		{swap("2025", "1925"), "before 1970"},
		{swap("= 3", "= 16"), "0 to 15"},
		{swap("= 3", "= -1"), "0 to 15"},
		// The meaning of these is clear, but String would not write them.
		{swap("0:1 │ ", ""), "0:1"},
		{swap("0:1", "0:2"), "0:1"},
		{swap("0:1", "0:"), "0:1"},
		{swap("1ms", "1000µs"), "1ms"},
		{swap("00Z", "00.0Z"), "00:00Z"},
		{swap("2025-01-01T00:00:00Z", "2025-01-01T01:00:00+01:00"), "00:00Z"},
		{swap("= 3", "= +3"), "= 3"},
		{text + " ", "invalid syntax"},
	} {
		t.Run(tt.text, func(t *testing.T) {
			l, err := idgen.ParseLayout(tt.text)
			if err == nil || !strings.HasPrefix(err.Error(), "idgen: invalid layout: ") || !strings.Contains(err.Error(), tt.want) || !l.IsZero() {
				t.Errorf("%q\ngave %v, %v; want an error that says %q", tt.text, l, err, tt.want)
			}
		})
	}
}

func FuzzParseLayout(f *testing.F) {
	for _, l := range presets(f) {
		f.Add(l.String())
	}
	f.Add("0:1 │ 0:1 = 0 │ time:41 × 1.5µs since 2025-01-01T00:00:00.000000001Z │ sequence = 1:8 = 255 │ sequence:12")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := idgen.ParseLayout(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "idgen: invalid layout: ") || !l.IsZero() {
				t.Fatalf("%q gave %v, %v", text, l, err)
			}
			return
		}
		if l.String() != text {
			t.Fatalf("%q was read as %q", text, l)
		}
		checkParsesBack(t, l)
	})
}
