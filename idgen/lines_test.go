package idgen

import (
	"testing"
	"unsafe"
)

// What Next reads of a Generator should be in two cache lines, if the allocator puts the
// Generator at the start of one.
func TestNextReadsTwoCacheLines(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		return // the sizes are those of 64-bit systems
	}
	const line = 64
	var g Generator
	if size := unsafe.Sizeof(g); size != 4*line {
		t.Errorf("a Generator has %d bytes, want %d", size, 4*line)
	}
	if at := unsafe.Offsetof(g.home); at != 0 {
		t.Errorf("home is at %d, want 0", at)
	}
	if size := unsafe.Sizeof(g.home); size != line {
		t.Errorf("home has %d bytes, want %d", size, line)
	}
	if at := unsafe.Offsetof(g.seq); at != line {
		t.Errorf("seq is at %d, want %d", at, line)
	}
	if end := unsafe.Offsetof(g.clock) + unsafe.Offsetof(g.clock.due) + unsafe.Sizeof(g.clock.due); end != 2*line {
		t.Errorf("clock.due ends at %d, want %d", end, 2*line)
	}
}
