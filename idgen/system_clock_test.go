package idgen_test

import (
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// Without Config.Clock ids carry the system's time.
func TestSystemClock(t *testing.T) {
	pool := newPool(t, idgen.Config{})
	for range 3 {
		before := time.Now().Add(-2 * time.Millisecond)
		at := pool.Layout().Decode(mustNext(t, pool)).Time
		if after := time.Now().Add(12 * time.Millisecond); at.Before(before) || at.After(after) {
			t.Errorf("an id of %v was made between %v and %v", at, before, after)
		}
		time.Sleep(60 * time.Millisecond)
	}
}
