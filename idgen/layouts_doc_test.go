package idgen_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// The table in docs/layouts.md says what the layouts say of themselves.
func TestLayoutsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/layouts.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []struct {
		name   string
		layout idgen.Layout
	}{
		{"DefaultLayout", idgen.DefaultLayout()}, {"JSSafe", idgen.JSSafe()}, {"Twitter", idgen.Twitter()}, {"Twitter2015", idgen.Twitter2015()},
		{"Discord", idgen.Discord()}, {"Instagram", idgen.Instagram()}, {"Sonyflake", idgen.Sonyflake()}, {"Mastodon", idgen.Mastodon()},
		{"Baidu", idgen.Baidu()}, {"TSID", idgen.TSID()}, {"DatacenterProcess", idgen.DatacenterProcess()},
	} {
		var fields []string
		workers, perTick := 1, 1
		for _, f := range p.layout.Fields() {
			fields = append(fields, fmt.Sprintf("%s %d", f.Name, f.Bits))
			switch f.Name {
			case "worker":
				workers = 1 << f.Bits
			case "sequence":
				perTick = 1 << f.Bits
			}
		}
		life := p.layout.Lifetime()
		row := fmt.Sprintf("| `%s` | %s | %v | %s | %s | %d | %d |", p.name, strings.Join(fields, ", "), p.layout.Unit(),
			life.Start.Format("2006-01-02"), life.End.Format("2006-01-02"), workers, perTick*int(time.Second)/int(p.layout.Unit()))
		if !strings.Contains(string(page), row+"\n") {
			t.Errorf("docs/layouts.md lacks the row\n%s", row)
		}
	}
}
