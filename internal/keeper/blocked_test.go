package keeper_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/internal/keeper"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

// TestStopIsLoggedOnce makes the store fail for a minute. One message says that ids have
// stopped and why, and one that they are back.
func TestStopIsLoggedOnce(t *testing.T) {
	for name, test := range map[string]struct {
		fail func(ctx context.Context) error
		want string
	}{
		"no answer": {hangs, "it has not answered for 2.5s"},
		"blocked":   {func(context.Context) error { return &lease.BlockedError{Cause: "all are in use", Remedy: "wait"} }, "all are in use; wait"},
		"refused":   {func(context.Context) error { return errors.New("connection refused") }, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var failing atomic.Bool
				store := &hooked{Memory: new(leasetest.Memory), hook: func(ctx context.Context, _ string) error {
					if failing.Load() {
						return test.fail(ctx)
					}
					return nil
				}}
				var log strings.Builder
				cfg := config(0, 0)
				cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
				k, r := openKeeper(t, store, cfg)
				failing.Store(true)
				time.Sleep(14 * time.Second) // less than TTL
				failing.Store(false)
				time.Sleep(15 * time.Second)
				synctest.Wait()
				stops := strings.Count(log.String(), "level=WARN")
				if stops != 1 || !strings.Contains(log.String(), "ids have stopped") || !strings.Contains(log.String(), test.want) || strings.Count(log.String(), "ids are back") != 1 {
					t.Error(log.String())
				}
				r.mu.Lock()
				defer r.mu.Unlock()
				for _, reason := range r.reasons {
					if reason != nil && reason.Error() == "context deadline exceeded" {
						t.Error("a reason says no more than", reason)
					}
					if b, ok := errors.AsType[*lease.BlockedError](reason); ok && b.Limit != 20*time.Second {
						t.Errorf("calls wait for %v, want two windows", b.Limit)
					}
				}
				go k.Close(context.Background())
			})
		})
	}
}

// TestOpenWhileBlocked has a ctx that doesn't end.
func TestOpenWhileBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked := &lease.BlockedError{Cause: "all are in use", Remedy: "wait"}
		store := &hooked{Memory: new(leasetest.Memory), hook: func(context.Context, string) error { return blocked }}
		began := time.Now()
		_, err := keeper.Open(context.Background(), store, new(recorder), config(0, 0))
		if took := time.Since(began); !errors.Is(err, blocked) || took < 20*time.Second || took > 30*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
	})
}
