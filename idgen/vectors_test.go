package idgen_test

import (
	"encoding/json"
	"os"
	"reflect"
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

	// Of layouts that are no preset:
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
		name, bits := b[0].(string), int(b[1].(float64))
		width[name] = bits
		switch name {
		case "time":
			fields = append(fields, idgen.Time(bits))
		case "worker":
			fields = append(fields, idgen.Worker(bits))
		case "rollback":
			fields = append(fields, idgen.Rollback(bits))
		case "sequence":
			fields = append(fields, idgen.Sequence(bits))
		default:
			fields = append(fields, idgen.Fixed(name, bits, 0))
		}
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
			t.Errorf("%s %s: decoded %+v; published %+v (%s)", v.Layout, v.ID, got, want, v.Source)
		}
		if id, err := l.Compose(want); err != nil || id != int64(unsigned) {
			t.Errorf("%s %+v: composed %d, %v; published %s (%s)", v.Layout, want, uint64(id), err, v.ID, v.Source)
		}
	}
	for _, name := range []string{"Twitter", "Twitter2015", "Discord", "Instagram", "Sonyflake", "Mastodon", "Baidu", "TSID", "DatacenterProcess"} {
		if seen[name] < 2 {
			t.Errorf("%d vectors of %s; want at least 2", seen[name], name)
		}
	}
}
