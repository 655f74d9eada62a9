package keeper

import (
	"testing"

	"github.com/snowkey-go/snowkey/lease"
)

func TestReached(t *testing.T) {
	terms := lease.Terms{Epoch: 1_000_000, Unit: 1000, PerTick: 4096, Ahead: 12_000_000}
	for bound := int64(13_000*4096 - 9000); bound < 13_000*4096+9000; bound += 999 {
		at := reached(terms, bound)
		if terms.At(at).Cap < bound || terms.At(at-1).Cap >= bound {
			t.Errorf("the cap is %d at %d, and %d before; want %d to be reached", terms.At(at).Cap, at, terms.At(at-1).Cap, bound)
		}
	}
}
