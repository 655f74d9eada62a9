package matrix

import (
	"slices"
	"testing"
)

// Each integration must have all kinds in the order of the page, and all of its benches
// must have the same ways.
func TestEveryKind(t *testing.T) {
	for _, in := range integrations {
		var want []line
		for key, b := range in.benches {
			var got []line
			var met []kind
			for _, w := range b.ways() {
				got = append(got, in.line(w))
				met = append(met, w.kind)
				if (w.create == nil) != (w.call == "") || (w.create == nil) != (w.without != "") {
					t.Errorf("%s: %+v has not either a call or a reason", in.name, w)
				}
			}
			if !slices.Equal(slices.Compact(met), kinds) {
				t.Errorf("%s with %s has the kinds %q, want %q", in.name, key, met, kinds)
			}
			if want == nil {
				want = got
			} else if !slices.Equal(got, want) {
				t.Errorf("%s with %s has the ways %q, unlike %q", in.name, key, got, want)
			}
		}
		if (len(in.benches) < len(keyTypes)) != (in.without != "") {
			t.Errorf("%s has %d of %d types of key; why: %q", in.name, len(in.benches), len(keyTypes), in.without)
		}
	}
	for _, k := range kinds {
		if len(scenarios[k].items) == 0 {
			t.Errorf("%s creates nothing", k)
		}
	}
}
