package docs_test

import (
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/fleet"
)

// The page must show the file of the example, a line with a layout that the file accepts,
// and the error as it is printed.
func TestServicesShowsTheFile(t *testing.T) {
	blocks := strings.Split(read(t, "docs/services.md"), "```text\n")[1:]
	for i := range blocks {
		blocks[i], _, _ = strings.Cut(blocks[i], "```")
	}
	if len(blocks) != 3 {
		t.Fatalf("the page has %d blocks of text", len(blocks))
	}
	if file := read(t, "examples/services/fleet.txt"); blocks[0] != file {
		t.Errorf("the file is\n%s\nand the page has\n%s", file, blocks[0])
	}
	f, err := fleet.Parse(blocks[1] + blocks[0])
	if err != nil || f.Layout.String() != idgen.JSSafe().String() {
		t.Errorf("%s: %v", blocks[1], err)
	}
	if !strings.Contains(read(t, "example_test.go"), "// Output: "+blocks[2]) {
		t.Errorf("no example prints %s", blocks[2])
	}
}
