package segment_test

import (
	"math"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/idgen/segment/segmenttest"
)

// Writers with separate stores must never issue the same number if their Offsets
// differ, whatever the bounds in their stores.
func TestStrides(t *testing.T) {
	for offset := range int64(3) {
		store := new(segmenttest.Memory)
		store.SetBound("orders", base+1000*offset)
		s := newSegment(t, store, segment.Config{Offset: offset, Stride: 3, MinStep: 5, MaxStep: 5})
		first := base + 1000*offset
		for first%3 != offset {
			first++
		}
		draws(t, s, first, first+3)
		appends(t, s, 20, first+6, 3)
		draws(t, s, first+66)
		for _, f := range store.Fetches() {
			if f.Span < 15 || f.Span%3 != 0 {
				t.Errorf("a fetch moves the bound by %d", f.Span)
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, tt := range []struct {
		cfg         segment.Config
		field, want string
	}{
		{segment.Config{}, "Name", `Config.Name "" cannot be stored`},
		{segment.Config{Name: strings.Repeat("ä", 33)}, "Name", "use 1 to 64 bytes"},
		{segment.Config{Name: "a\x00"}, "Name", "without zeros"},
		{segment.Config{Name: "a\xff"}, "Name", "UTF-8"},
		{segment.Config{Name: "a "}, "Name", "a space at the end"},
		{segment.Config{Name: "a", MinValue: -1}, "MinValue", "-1 and MaxValue"},
		{segment.Config{Name: "a", MinValue: 10, MaxValue: 9}, "MinValue", "10 and MaxValue 9"},
		{segment.Config{Name: "a", MaxValue: math.MaxInt64}, "MinValue", "within 1 to 9223372036854775806"},
		{segment.Config{Name: "a", Stride: -1}, "Offset", "Stride -1 not"},
		{segment.Config{Name: "a", Stride: 1<<32 + 1}, "Offset", "Stride 4294967297 not"},
		{segment.Config{Name: "a", Offset: 1}, "Offset", "1 is not within 0 to Stride-1"},
		{segment.Config{Name: "a", Stride: 3, Offset: -1}, "Offset", "-1 is not"},
		{segment.Config{Name: "a", MinStep: -1}, "MinStep", "-1 and MaxStep"},
		{segment.Config{Name: "a", MaxStep: 99}, "MinStep", "100 and MaxStep 99"},
		{segment.Config{Name: "a", MaxStep: 1<<32 + 1}, "MinStep", "within 1 to 4294967296"},
		{segment.Config{Name: "a", Ahead: -1}, "Ahead", "-1ns is negative"},
		{segment.Config{Name: "a", Timeout: -1}, "Timeout", "-1ns is negative"},
	} {
		t.Run(tt.field+": "+tt.want, func(t *testing.T) {
			s, err := segment.New(new(segmenttest.Memory), tt.cfg)
			if err == nil || s != nil || !strings.HasPrefix(err.Error(), "segment: Config."+tt.field+" ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%+v: %v; want %q", tt.cfg, err, tt.want)
			}
		})
	}
	if _, err := segment.New(nil, segment.Config{Name: "a"}); err == nil || !strings.Contains(err.Error(), "has no store") {
		t.Errorf("without a store: %v", err)
	}
	for _, cfg := range []segment.Config{
		{Name: strings.Repeat("ä", 32), MinStep: 1 << 32, Stride: 1 << 32, Offset: 1<<32 - 1},
		{Name: " a", MinValue: math.MaxInt64 - 1},
	} {
		newSegment(t, new(segmenttest.Memory), cfg)
	}
}
