package main

import (
	"math"
	"math/rand/v2"
	"testing"
)

// ratiosAround returns as many ratios as there are programs, which differ as much as theirs.
func ratiosAround(r *rand.Rand, median float64) []float64 {
	values := make([]float64, placements)
	for i := range values {
		values[i] = median * math.Exp(0.2*r.NormFloat64())
	}
	return values
}

func TestUncertainty(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const runs = 2000
	held := 0
	for range runs {
		values := ratiosAround(r, 1)
		if math.Abs(spreadOf(values).median-1) <= uncertainty(values) {
			held++
		}
	}
	if share := float64(held) / runs; share < 0.93 || share > 0.97 {
		t.Errorf("the median is within its uncertainty in %.1f %% of runs, want about 95 %%", 100*share)
	}
	if off := uncertainty([]float64{1.5}); off != 0 {
		t.Errorf("the uncertainty of one value is %v, want 0", off)
	}
}

func TestColdVerdictIsUndecidedNearTheBar(t *testing.T) {
	for _, tt := range []struct {
		ratio, off float64
		want       string
	}{
		{0.98, 0.03, met}, {1.004, 0.03, met}, {1.01, 0.03, undecided}, {1.03, 0.03, undecided}, {1.04, 0.03, missed}, {1.01, 0, missed},
	} {
		if got := coldVerdict(tt.ratio, tt.off); got != tt.want {
			t.Errorf("%v ± %v is %q, want %q", tt.ratio, tt.off, got, tt.want)
		}
	}
}
