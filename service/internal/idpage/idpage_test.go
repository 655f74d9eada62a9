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
			bits, low, parts := "", 64, layout.Decode(id)
			values := map[string]int64{"worker": parts.Worker, "sequence": parts.Sequence, "rollback": parts.Rollback}
			for _, f := range fields(layout, false, id) {
				if f.High != low-1 || f.Low > f.High || len(f.Binary) != f.High-f.Low+1 || f.Meaning == "" {
					t.Errorf("%v: %+v", layout, f)
				}
				if n, ok := values[f.Name]; ok && f.Value != uint64(n) || f.Name == "time" && f.Meaning != parts.Time.Format("2006-01-02 15:04:05.999 MST") {
					t.Errorf("%v: %+v, want %+v", layout, f, parts)
				}
				bits, low = bits+f.Binary, f.Low
			}
			if got, err := strconv.ParseInt(bits, 2, 64); err != nil || got != id || low != 0 {
				t.Errorf("%v: the bits of %d are %s: %v", layout, id, bits, err)
			}
		}
	}
}
