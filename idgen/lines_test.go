package idgen

import (
	"testing"
	"unsafe"
)

// What Next reads of a Generator should be in two cache lines.
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
	// The allocator puts an object of 320 to 384 bytes at a multiple of 384.
	if size := unsafe.Sizeof(Pool{}); size <= 320 || size > 384 {
		t.Errorf("a Pool has %d bytes, want at most %d, and more than 320", size, 384)
	}
	p, err := NewPool(Config{Worker: func(int) (int64, error) { return 76, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(t.Context())
	for _, name := range []string{"", "orders", "users"} {
		if at := uintptr(unsafe.Pointer(p.Named(name))); at%(2*line) != 0 {
			t.Errorf("the generator %q is at %#x, which is not a multiple of %d", name, at, 2*line)
		}
	}
}
