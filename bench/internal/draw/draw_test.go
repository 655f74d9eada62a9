package draw

import (
	"runtime"
	"testing"
	"unsafe"
)

// node returns an object on the heap, of the size of bwmarrin's node.
//
//go:noinline
func node() *[12]*byte { return new([12]*byte) }

func TestPlaceSeparatesObjects(t *testing.T) {
	const page = 4096
	const seeds = 50
	near := 0
	for seed := range seeds {
		earlier := node()
		objects := Place(seed)
		later := node()
		distance := int64(uintptr(unsafe.Pointer(later))) - int64(uintptr(unsafe.Pointer(earlier)))
		if max(distance, -distance) < page {
			near++
		}
		runtime.KeepAlive(objects)
		runtime.KeepAlive(earlier)
	}
	if near > seeds/4 {
		t.Errorf("%d of %d times, an object is within %d bytes of an earlier one of its size, want a tenth", near, seeds, page)
	}
}
