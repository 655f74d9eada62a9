package idpage

import (
	"math"
	"strconv"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
)

// All bits together are the id, for every kind of layout.
func TestFields(t *testing.T) {
	for _, layout := range idgen.Presets() {
		for _, id := range []int64{0, 1, 280421183266521089, 280421183266521090, math.MaxInt64 - 1, math.MaxInt64} {
			bits := ""
			low := 64
			for _, f := range fields(layout, id) {
				if f.High != low-1 || f.Low > f.High || len(f.Binary) != f.High-f.Low+1 || f.Meaning == "" {
					t.Errorf("%v: %+v", layout, f)
				}
				bits, low = bits+f.Binary, f.Low
			}
			if got, err := strconv.ParseInt(bits, 2, 64); err != nil || got != id || low != 0 {
				t.Errorf("%v: the bits of %d are %s: %v", layout, id, bits, err)
			}
		}
	}
}
