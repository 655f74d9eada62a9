package segment_test

import (
	"testing"
	"testing/synctest"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/idgen/segment/segmenttest"
)

func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSegment(t, new(segmenttest.Memory), segment.Config{MinStep: 10, MaxStep: 10, MaxValue: base + 999})
		if h := s.Health(); h != (segment.Health{Remaining: 1000, Step: 10}) {
			t.Errorf("before the first call: %+v", h)
		}
		draws(t, s, base)
		synctest.Wait()
		if h := s.Health(); h != (segment.Health{Ready: 19, Remaining: 980, Step: 10}) {
			t.Errorf("after the first call: %+v", h)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if h := s.Health(); h.State != idgen.Closed || h.Ready != 0 {
			t.Errorf("closed: %+v", h)
		}
	})
}
