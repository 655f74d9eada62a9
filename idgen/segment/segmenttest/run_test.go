package segmenttest

import (
	"testing"

	"github.com/snowkey-go/snowkey/idgen/segment"
)

func TestMemory(t *testing.T) {
	Run(t, func(*testing.T) segment.Store { return new(Memory) })
}
