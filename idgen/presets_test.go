package idgen_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/errtest"
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
	data := errtest.Must(os.ReadFile("testdata/vectors.json"))(t)
	var vectors []vector
	errtest.NoError(t, json.Unmarshal(data, &vectors))
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
	unit := errtest.Must(time.ParseDuration(v.Unit))(t)
	var fields []idgen.Field
	for _, b := range v.Bits {
		f := idgen.Field{Name: b[0].(string), Bits: int(b[1].(float64))}
		f.Fixed = !slices.Contains([]string{"time", "worker", "rollback", "sequence"}, f.Name)
		fields = append(fields, f)
	}
	return errtest.Must(idgen.NewLayout(v.Epoch, unit, fields...))(t)
}

func TestVectors(t *testing.T) {
	seen := map[string]int{}
	for _, v := range readVectors(t) {
		seen[v.Layout]++
		t.Run(v.Layout+" "+v.ID, func(t *testing.T) {
			l := v.layout(t)
			unsigned := errtest.Must(strconv.ParseUint(v.ID, 10, 64))(t)
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
	for name := range idgen.Presets() {
		if seen[name] < 2 && name != "default" && name != "jssafe" {
			t.Errorf("%d vectors of %s; want at least 2", seen[name], name)
		}
	}
}

// Checks that the table in docs/layouts.md agrees with the layouts.
func TestLayoutsPage(t *testing.T) {
	page := errtest.Must(os.ReadFile("../docs/layouts.md"))(t)
	for name, layout := range idgen.Presets() {
		t.Run(name, func(t *testing.T) {
			var fields []string
			workers, perTick := 1, 1
			for _, f := range layout.Fields() {
				fields = append(fields, fmt.Sprintf("%s %d", f.Name, f.Bits))
				switch f.Name {
				case "worker":
					workers = 1 << f.Bits
				case "sequence":
					perTick = 1 << f.Bits
				}
			}
			life := layout.Lifetime()
			row := fmt.Sprintf("| `%s` | %s | %v | %s | %s | %d | %d |", name, strings.Join(fields, ", "), layout.Unit(),
				life.Start.Format("2006-01-02"), life.End.Format("2006-01-02"), workers, int64(perTick)*int64(time.Second)/int64(layout.Unit()))
			if !strings.Contains(string(page), row+"\n") {
				t.Errorf("docs/layouts.md lacks the row\n%s", row)
			}
		})
	}
}

// preset returns a layout by its name.
func preset(name string) idgen.Layout {
	l, err := idgen.Preset(name)
	if err != nil {
		panic(err)
	}
	return l
}

func TestPresetsHaveNames(t *testing.T) {
	if preset("default").String() != idgen.DefaultLayout().String() || preset("jssafe").String() != idgen.JSSafe().String() {
		t.Error("default is not DefaultLayout, or jssafe is not JSSafe")
	}
	if l, err := idgen.Preset("Twitter"); err == nil || !strings.Contains(err.Error(), `"Twitter"; the presets are default, jssafe, twitter, `) || !l.IsZero() {
		t.Errorf("Twitter: %v, %v", l, err)
	}
}

// presets returns the presets by their names, and two more layouts.
func presets(t testing.TB) map[string]idgen.Layout {
	day, units := 24*time.Hour, []idgen.Field{idgen.Time(15), idgen.Worker(10), idgen.Rollback(1), idgen.Sequence(32), idgen.Fixed("end", 5, 31)}
	layouts := map[string]idgen.Layout{
		"twitter in a datacenter": errtest.Must(preset("twitter").WithFixed("datacenter", 31))(t),
		"days":                    errtest.Must(idgen.NewLayout(epoch.Truncate(day), day, units...))(t),
	}
	maps.Insert(layouts, idgen.Presets())
	return layouts
}
