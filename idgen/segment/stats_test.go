package segment_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/idgen/segment/segmenttest"
	"github.com/snowkey-go/snowkey/internal/errtest"
)

func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(segmenttest.Memory)
		s := newSegment(t, store, segment.Config{MinStep: 10, MaxStep: 10, Timeout: time.Second})
		require := func(when string, want segment.Stats) {
			t.Helper()
			synctest.Wait()
			if got := s.Stats(); got != want {
				t.Errorf("%s: %+v, want %+v", when, got, want)
			}
		}
		require("before the first call", segment.Stats{})
		if h := s.Health(); h.Ready != 0 || h.Step != 10 || h.State != idgen.Serving {
			t.Errorf("before the first call: %+v", h)
		}
		// The first fetch takes a millisecond, so that the first call has to wait for it.
		late := sync.OnceFunc(func() { time.Sleep(time.Millisecond) })
		store.Fault(func() segmenttest.Fault { late(); return segmenttest.None })
		draws(t, s, base)
		want := segment.Stats{Issued: 1, Waits: 1, WaitTime: time.Millisecond, Fetches: 2, FetchTime: time.Millisecond}
		require("after the first call", want)
		appends(t, s, 7, base+1, 1)
		want.Issued = 8
		require("after a batch", want)

		store.Fault(func() segmenttest.Fault { return segmenttest.Hang })
		appends(t, s, 12, base+8, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := s.Next(ctx); err == nil {
			t.Error("the store hangs, and Next has returned a number")
		}
		time.Sleep(700 * time.Millisecond)
		want = segment.Stats{Issued: 20, Waits: 2, WaitTime: 301 * time.Millisecond, Fetches: 2, Failures: 1, FetchTime: time.Second + time.Millisecond, LastFetch: time.Second}
		require("after a timeout", want)
		errtest.NoError(t, s.Close(t.Context()))
		if got := s.Stats(); got.Issued != 20 {
			t.Errorf("closed: %+v", got)
		}
	})
}
