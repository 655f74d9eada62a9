package idgen_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// vector is a row of testdata/vectors.json.
type vector struct {
	Layout string
	ID     string
	Time   time.Time
	Fields map[string]int64
	Source string

	// Only set for layouts without a preset.
	Epoch time.Time
	Unit  string
	Bits  [][]any // pairs of name and width
}

func readVectors(t *testing.T) []vector {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	return vectors
}

// layout returns the preset that v names, or makes the layout that v describes.
func (v vector) layout(t *testing.T) idgen.Layout {
	t.Helper()
	if v.Bits == nil {
		l, ok := presets(t)[v.Layout]
		if !ok {
			t.Fatalf("there is no preset %q", v.Layout)
		}
		return l
	}
	unit := must(time.ParseDuration(v.Unit))(t)
	width := map[string]int{}
	var fields []idgen.Field
	for _, b := range v.Bits {
		f := idgen.Field{Name: b[0].(string), Bits: int(b[1].(float64))}
		f.Fixed = !slices.Contains([]string{"time", "worker", "rollback", "sequence"}, f.Name)
		width[f.Name] = f.Bits
		fields = append(fields, f)
	}
	made := must(idgen.NewLayout(v.Epoch, unit, fields...))(t)
	if strings.HasPrefix(v.Layout, "Raindrop") {
		raindrop := must(idgen.Raindrop(idgen.RaindropConfig{
			Epoch: v.Epoch.Add(unit / 3), Unit: unit, TimeBits: width["time"], WorkerBits: width["worker"], EndBits: width["end"],
		}))(t)
		if raindrop.String() != made.String() {
			t.Fatalf("Raindrop gives %v; published is %v", raindrop, made)
		}
	}
	return made
}

func TestVectors(t *testing.T) {
	seen := map[string]int{}
	for _, v := range readVectors(t) {
		seen[v.Layout]++
		t.Run(v.Layout+" "+v.ID, func(t *testing.T) {
			l := v.layout(t)
			unsigned, err := strconv.ParseUint(v.ID, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			want := idgen.Parts{Time: v.Time, Worker: v.Fields["worker"], Rollback: v.Fields["rollback"], Sequence: v.Fields["sequence"]}
			for _, f := range l.Fields() {
				if f.Fixed {
					want.Fixed = append(want.Fixed, v.Fields[f.Name])
				}
			}
			got := l.Decode(int64(unsigned))
			if !reflect.DeepEqual(got, want) {
				t.Errorf("decoded %+v; published %+v (%s)", got, want, v.Source)
			}
			if id, err := l.Compose(want); err != nil || id != int64(unsigned) {
				t.Errorf("%+v: composed %d, %v; published %s (%s)", want, uint64(id), err, v.ID, v.Source)
			}
		})
	}
	for _, name := range []string{"Twitter", "Twitter2015", "Discord", "Instagram", "Sonyflake", "Mastodon", "Baidu", "TSID", "DatacenterProcess"} {
		if seen[name] < 2 {
			t.Errorf("%d vectors of %s; want at least 2", seen[name], name)
		}
	}
}

// pagePresets are the layouts of docs/layouts.md.
var pagePresets = []struct {
	name   string
	layout idgen.Layout
}{
	{"DefaultLayout", idgen.DefaultLayout()}, {"JSSafe", idgen.JSSafe()}, {"Twitter", idgen.Twitter()}, {"Twitter2015", idgen.Twitter2015()},
	{"Discord", idgen.Discord()}, {"Instagram", idgen.Instagram()}, {"Sonyflake", idgen.Sonyflake()}, {"Mastodon", idgen.Mastodon()},
	{"Baidu", idgen.Baidu()}, {"TSID", idgen.TSID()}, {"DatacenterProcess", idgen.DatacenterProcess()},
}

// Checks that the table in docs/layouts.md agrees with the layouts.
func TestLayoutsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/layouts.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pagePresets {
		t.Run(p.name, func(t *testing.T) {
			var fields []string
			workers, perTick := 1, 1
			for _, f := range p.layout.Fields() {
				fields = append(fields, fmt.Sprintf("%s %d", f.Name, f.Bits))
				switch f.Name {
				case "worker":
					workers = 1 << f.Bits
				case "sequence":
					perTick = 1 << f.Bits
				}
			}
			life := p.layout.Lifetime()
			row := fmt.Sprintf("| `%s` | %s | %v | %s | %s | %d | %d |", p.name, strings.Join(fields, ", "), p.layout.Unit(),
				life.Start.Format("2006-01-02"), life.End.Format("2006-01-02"), workers, int64(perTick)*int64(time.Second)/int64(p.layout.Unit()))
			if !strings.Contains(string(page), row+"\n") {
				t.Errorf("docs/layouts.md lacks the row\n%s", row)
			}
		})
	}
}

func TestRaindrop(t *testing.T) {
	l := must(idgen.Raindrop(idgen.RaindropConfig{Epoch: epoch, Unit: time.Millisecond, TimeBits: 50, WorkerBits: 4, EndBits: 2, End: 3}))(t)
	if got, want := width(l), 63; got != want {
		t.Errorf("%d bits; want %d", got, want)
	}
	id := must(l.Compose(idgen.Parts{Time: epoch.Add(time.Second), Worker: 15, Rollback: 1, Sequence: 63}))(t)
	if id != 1000<<13|15<<9|1<<8|63<<2|3 {
		t.Errorf("id %b", id)
	}
	// With a wide time field, ids stay below 2^53 for 34 years.
	if got := l.Lifetime().SafeEnd.Year(); got != 2059 {
		t.Errorf("safe until %d", got)
	}
	for unit, width := range map[time.Duration][2]int{
		time.Millisecond: {41, 55}, time.Second: {31, 55}, time.Minute: {25, 50}, time.Hour: {19, 45}, 24 * time.Hour: {15, 40},
	} {
		for bits := range 64 {
			_, err := idgen.Raindrop(idgen.RaindropConfig{Epoch: epoch, Unit: unit, TimeBits: bits, WorkerBits: 3})
			if ok := bits >= width[0] && bits <= width[1]; ok != (err == nil) {
				t.Errorf("%v with %d time bits: %v", unit, bits, err)
			}
		}
	}
	for _, c := range []idgen.RaindropConfig{
		{Epoch: epoch, Unit: time.Millisecond, TimeBits: 41, WorkerBits: 2},
		{Epoch: epoch, Unit: time.Millisecond, TimeBits: 41, WorkerBits: 11},
		{Epoch: epoch, Unit: time.Millisecond, TimeBits: 41, WorkerBits: 10, EndBits: 6},
		{Epoch: epoch, Unit: time.Millisecond, TimeBits: 41, WorkerBits: 10, EndBits: 2, End: 4},
		{Epoch: epoch, Unit: time.Millisecond, TimeBits: 41, WorkerBits: 10, End: 1},
		{Epoch: epoch, Unit: 2 * time.Millisecond, TimeBits: 41, WorkerBits: 10},
	} {
		if l, err := idgen.Raindrop(c); err == nil {
			t.Errorf("%+v gave %v", c, l)
		}
	}
}

// presets returns the layouts of docs/layouts.md by their names, and two more.
func presets(t testing.TB) map[string]idgen.Layout {
	layouts := map[string]idgen.Layout{
		"TwitterIn": must(idgen.Twitter().WithFixed("datacenter", 31))(t),
		"Raindrop":  must(idgen.Raindrop(idgen.RaindropConfig{Epoch: epoch, Unit: 24 * time.Hour, TimeBits: 15, WorkerBits: 10, EndBits: 5, End: 31}))(t),
	}
	for _, p := range pagePresets {
		layouts[p.name] = p.layout
	}
	return layouts
}
