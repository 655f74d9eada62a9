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
// HTML says so, and ok is false.
func Decode(layout idgen.Layout, text string) (body string, ok bool) {
	id, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || id < 0 {
		return fmt.Sprintf(`<p id="problem" class="problem" role="alert">This is not an id. Ids are decimal numbers from 0 to %d.</p>`, int64(math.MaxInt64)), false
	}
	var bits, rows strings.Builder
	for _, f := range fields(layout, id) {
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
func fields(layout idgen.Layout, id int64) []field {
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
	lines := make([]field, 0, len(all))
	for _, f := range all {
		high := low - 1
		low -= f.Bits
		value := uint64(id) >> low & (1<<f.Bits - 1)
		line := field{Name: f.Name, Class: "other", Binary: fmt.Sprintf("%0*b", f.Bits, value), High: high, Low: low, Value: value}
		switch {
		case f.Fixed:
			line.Meaning = "the same in all ids"
			if uint64(f.Value) != value {
				line.Meaning = fmt.Sprintf("not %d, so the id has another layout", f.Value)
			}
		case f.Name == "unused":
			line.Class = "unused"
			line.Meaning = "always 0"
			if value != 0 {
				line.Meaning = "not 0, so the id has another layout"
			}
		case f.Name == "time":
			line.Class = "time"
			line.Meaning = parts.Time.Format("2006-01-02 15:04:05.999 MST")
		case f.Name == "worker":
			line.Class = "worker"
			line.Meaning = "the process that made the id"
		case f.Name == "sequence":
			line.Class = "sequence"
			line.Meaning = "counts within " + layout.Unit().String()
		case f.Name == "rollback":
			line.Meaning = "how often the clock was set back"
		}
		lines = append(lines, line)
	}
	return lines
}
