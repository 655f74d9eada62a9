package lease

import "testing"

func TestTerms(t *testing.T) {
	terms := Terms{Epoch: 1_000_000, Unit: 1000, PerTick: 4096, Ahead: 12_000_000}
	for _, tt := range []struct{ now, counter, limit int64 }{
		{1_000_000, 0, 12_001 * 4096},
		{1_000_999, 0, 12_001 * 4096},
		{1_001_000, 4096, 12_002 * 4096},
	} {
		if c, l := terms.At(tt.now).Tick, terms.At(tt.now).Cap; c != tt.counter || l != tt.limit {
			t.Errorf("at %d: counter %d, cap %d; want %d, %d", tt.now, c, l, tt.counter, tt.limit)
		}
	}
	// A cap never decreases, and is always above every counter of the time Ahead from
	// now.
	for now := int64(1_000_000); now < 1_010_000; now += 333 {
		if terms.At(now).Cap > terms.At(now+1).Cap || terms.At(now).Cap <= terms.At(now+terms.Ahead).Tick+terms.PerTick-1 {
			t.Fatalf("at %d the cap is %d", now, terms.At(now).Cap)
		}
	}
}
