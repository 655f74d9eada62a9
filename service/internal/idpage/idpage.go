// Package idpage has what two pages share: that of the id service, and that which decodes ids
// without a server. The second one runs Decode as WebAssembly, so this package doesn't import
// html/template, which would double its size.
package idpage

import (
	_ "embed"
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/idgen"
)

// Template is for html/template. Its blocks are empty on the page of the service.
//
//go:embed page.html
var Template string

//go:embed page.css
var Style string

// A field is a run of bits of an id.
type field struct {
	Name, Class, Binary string
	High, Low           int
	Value               uint64
	Meaning             string
}

// Decode returns HTML that shows the fields of the id in text. If text is not an id, the
// HTML says so, and ok is false. In ids of a preset, fixed fields can have any value.
func Decode(layout idgen.Layout, preset bool, text string) (body string, ok bool) {
	id, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || id < 0 {
		return fmt.Sprintf(`<p id="problem" class="problem" role="alert">This is not an id. Ids are decimal numbers from 0 to %d.</p>`, int64(math.MaxInt64)), false
	}
	var bits, rows strings.Builder
	for _, f := range fields(layout, preset, id) {
		name, place := html.EscapeString(f.Name), strconv.Itoa(f.High)
		if f.High != f.Low {
			place += fmt.Sprintf("–%d", f.Low)
		}
		fmt.Fprintf(&bits, `<div class="%s"><span class="name">%s</span><span class="bin">%s</span></div>`+"\n", f.Class, name, f.Binary)
		fmt.Fprintf(&rows, `<tr><th scope="row">%s</th><td>%s</td><td>%d</td><td>%s</td></tr>`+"\n", name, place, f.Value, html.EscapeString(f.Meaning))
	}
	return fmt.Sprintf(`<div class="bits" role="img" aria-label="The 64 bits of the id, from the highest to the lowest; the table below has the same fields">
%s</div>
<table>
<caption>The fields of %d</caption>
<thead><tr><th scope="col">Field</th><th scope="col">Bits</th><th scope="col">Value</th><th scope="col">Meaning</th></tr></thead>
<tbody>
%s</tbody>
</table>`, &bits, id, &rows), true
}

// fields returns the fields of an id, from the highest bit to the lowest.
func fields(layout idgen.Layout, preset bool, id int64) []field {
	all := layout.Fields()
	low := 64
	unused := 64
	for _, f := range all {
		unused -= f.Bits
	}
	if unused > 0 {
		all = append([]idgen.Field{{Name: "unused", Bits: unused}}, all...)
	}
	parts := layout.Decode(id)
	meanings := map[string]string{
		"unused":   "always 0",
		"time":     parts.Time.Format("2006-01-02 15:04:05.999 MST"),
		"worker":   "the process that made the id",
		"sequence": "counts within " + layout.Unit().String(),
		"rollback": "how often the clock was set back",
	}
	lines := make([]field, 0, len(all))
	for _, f := range all {
		high := low - 1
		low -= f.Bits
		value := uint64(id) >> low & (1<<f.Bits - 1)
		class, meaning := f.Name, meanings[f.Name]
		switch {
		case f.Fixed && preset:
			class, meaning = "other", "the same in all ids of one process"
		case f.Fixed && uint64(f.Value) != value:
			class, meaning = "other", fmt.Sprintf("not %d, so the id has another layout", f.Value)
		case f.Fixed:
			class, meaning = "other", "the same in all ids"
		case f.Name == "rollback":
			class = "other"
		case f.Name == "unused" && value != 0:
			meaning = "not 0, so the id has another layout"
		}
		lines = append(lines, field{f.Name, class, fmt.Sprintf("%0*b", f.Bits, value), high, low, value, meaning})
	}
	return lines
}
