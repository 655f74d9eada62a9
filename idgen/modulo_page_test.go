package idgen_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/raced"
)

// docs/layouts.md says how many of N shards get rows if each row goes to shard id % N,
// at exactly one id a second.
func TestModuloPage(t *testing.T) {
	raced.Skip(t)
	page, err := os.ReadFile("../docs/layouts.md")
	if err != nil {
		t.Fatal(err)
	}
	shards := []int64{2, 3, 10, 64, 100, 128, 1000}
	day := 0
	for _, p := range pagePresets {
		t.Run(p.name, func(t *testing.T) {
			day++ // no other pool has this layout, so we don't start above an earlier one
			layout := must(p.layout.WithEpoch(epoch.AddDate(0, 0, -200-day)))(t)
			ids := draw(t, idgen.Config{Layout: layout, Worker: func(int) (int64, error) { return 0, nil }}, 20*1000, 1, true)
			cells := []string{"| `" + p.name + "`"}
			for _, n := range shards {
				used := map[int64]bool{}
				for _, id := range ids {
					used[id%n] = true
				}
				cells = append(cells, strconv.Itoa(len(used)))
			}
			row := strings.Join(cells, " | ") + " |"
			if !strings.Contains(string(page), row+"\n") {
				t.Errorf("docs/layouts.md lacks the row\n%s", row)
			}
		})
	}
}
