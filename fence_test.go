package snowkey_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
	"github.com/snowkey-go/snowkey/lease"
)

// If the database doesn't show that it was restored, only Fence keeps ids from
// repeating. We also run this without Fence, to make sure that ids would indeed repeat.
func TestFence(t *testing.T) {
	for _, fenced := range []bool{true, false} {
		t.Run(fmt.Sprintf("fenced %t", fenced), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, seen := &kvtest.Memory{}, map[int64]bool{}
				cfg := snowkey.Config{Layout: layout(t), MinWorker: 1, MaxWorker: 1, Logger: slog.New(slog.DiscardHandler), NoSpread: true}
				repeated := 0
				draw := func() {
					t.Helper()
					pool := open(t, store, cfg)
					ids, err := pool.NextN(t.Context(), 40_000) // more ids than the time until now has
					errtest.NoError(t, err)
					for _, id := range ids {
						if seen[id] {
							repeated++
						}
						seen[id] = true
					}
					pool.Close(t.Context())
				}
				if err := snowkey.Fence(t.Context(), store, cfg); fenced {
					if !errors.Is(err, lease.ErrNoNamespace) || !strings.Contains(err.Error(), `"default"`) {
						t.Errorf("nothing to fence: %v", err)
					}
				}
				open(t, store, cfg).Close(t.Context())
				before := store.Snapshot()
				draw()
				store.Restore(before)
				if fenced {
					errtest.NoError(t, snowkey.Fence(t.Context(), store, cfg))
				}
				if draw(); repeated > 0 == fenced {
					t.Errorf("fenced: %v; %d ids repeated", fenced, repeated)
				}
			})
		})
	}
}
