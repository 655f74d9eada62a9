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

// Decode and Compose are exact inverses. Since the fields are as wide together as the
// layout, no two fields use the same bit: another bit would have no field, and get lost.
func FuzzComposeDecode(f *testing.F) {
	for seed := range uint64(400) {
		f.Add(seed, int64(seed)<<54|1)
		f.Add(seed, int64(math.MaxInt64))
		f.Add(seed, int64(-1))
	}
	f.Fuzz(func(t *testing.T, seed uint64, id int64) {
		l, err := randomLayout(rand.New(rand.NewPCG(seed, 1)))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "idgen: invalid layout: ") {
				t.Fatal(err)
			}
			t.Skip()
		}
		if bits := width(l); bits < 64 {
			id &= 1<<bits - 1
		}
		parts := l.Decode(id)
		got, err := l.Compose(parts)
		if err != nil || got != id {
			t.Fatalf("%v\nid %d decodes to %+v and composes to %d, %v", l, id, parts, got, err)
		}
		if again := l.Decode(got); !reflect.DeepEqual(again, parts) {
			t.Fatalf("%v\n%+v came back as %+v", l, parts, again)
		}
	})
}

func TestComposeRefuses(t *testing.T) {
	l := preset("datacenter-process")
	at := epoch
	for _, tt := range []struct {
		name string
		p    idgen.Parts
		want string
	}{
		{"worker", idgen.Parts{Time: at, Worker: 32}, "worker 32 does not fit its field (0 to 31)"},
		{"negative", idgen.Parts{Time: at, Worker: -1}, "worker -1 does not fit its field (0 to 31)"},
		{"sequence", idgen.Parts{Time: at, Sequence: 4096}, "sequence 4096 does not fit its field (0 to 4095)"},
		{"rollback", idgen.Parts{Time: at, Rollback: 4}, "rollback 4 does not fit its field (0 to 3)"},
		{"fixed", idgen.Parts{Time: at, Fixed: []int64{8}}, "datacenter 8 does not fit its field (0 to 7)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := l.Compose(tt.p); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v; want %v", err, tt.want)
			}
		})
	}
	life := l.Lifetime()
	for _, at := range []time.Time{life.Start.Add(-1), life.End} {
		if _, err := l.Compose(idgen.Parts{Time: at}); err == nil || !strings.Contains(err.Error(), at.Format(time.RFC3339Nano)+" is outside the layout's lifetime ("+life.Start.Format(time.RFC3339)+" to "+life.End.Format(time.RFC3339)+")") {
			t.Errorf("%v: %v", at, err)
		}
	}
	if _, err := l.Compose(idgen.Parts{Time: at, Fixed: []int64{1, 2}}); err == nil {
		t.Error("two values for one fixed field were taken")
	}
	if _, err := preset("mastodon").Compose(idgen.Parts{Time: at, Worker: 1}); err == nil {
		t.Error("a worker was taken by a layout without workers")
	}
	if got := l.Decode(errtest.Must(l.Compose(idgen.Parts{Time: at, Fixed: []int64{7}}))(t)).Fixed; len(got) != 1 || got[0] != 7 {
		t.Errorf("datacenter 7 came back as %v", got)
	}
}
