package main

import (
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A plot is drawn as an SVG file.
type plot struct {
	name   string // part of the file name
	title  string
	x, y   axis
	series []series
	marks  []mark
}

// An axis starts at zero, or at the least value if it's logarithmic.
type axis struct {
	title string
	log   bool
	ticks []float64 // where to draw lines; nil for round numbers
}

type series struct {
	name   string
	ours   bool // drawn in a bolder line
	points []point
}

// A point is a median, along with the quartiles of y.
type point struct{ x, y, low, high float64 }

// A mark is a vertical line.
type mark struct {
	x    float64
	text string
}

// The size of the canvas, and of the area within it that has the lines. We leave room
// to the right of that area for the name of each line.
const (
	width, height            = 900, 420
	left, right, top, bottom = 78.0, 640.0, 52.0, 360.0
)

// style gives each line its own colour and dashes. It also sets the background, which
// makes the plot readable on any page, light or dark.
const style = `
  .back { fill: #ffffff } .grid { stroke: #d8dee4; stroke-width: 1 } .mark { stroke: #8c959f; stroke-dasharray: 2 4 }
  text { font: 13px system-ui, sans-serif; fill: #1f2328 } .title { font-weight: 600; font-size: 15px } .small { font-size: 12px; fill: #57606a }
  .line { fill: none; stroke-width: 1.8 } .ours { stroke-width: 3.4 } .range { stroke-width: 1.2; opacity: .6 }
  .s0 { stroke: #0550ae } .s1 { stroke: #bc4c00; stroke-dasharray: 8 3 } .s2 { stroke: #1a7f37; stroke-dasharray: 2 3 }
  .s3 { stroke: #8250df; stroke-dasharray: 10 3 2 3 } .s4 { stroke: #9a6700; stroke-dasharray: 5 5 } .s5 { stroke: #bf3989; stroke-dasharray: 1 4 }
  .s6 { stroke: #57606a; stroke-dasharray: 12 4 }
  .range { stroke-dasharray: none } .n0 { fill: #0550ae } .n1 { fill: #bc4c00 } .n2 { fill: #1a7f37 } .n3 { fill: #8250df }
  .n4 { fill: #9a6700 } .n5 { fill: #bf3989 } .n6 { fill: #57606a }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117 } .grid { stroke: #30363d } .mark { stroke: #8b949e } text { fill: #e6edf3 } .small { fill: #9198a1 }
    .s0 { stroke: #58a6ff } .s1 { stroke: #ffa657 } .s2 { stroke: #56d364 } .s3 { stroke: #d2a8ff } .s4 { stroke: #e3b341 }
    .s5 { stroke: #ff9bce } .s6 { stroke: #b1bac4 }
    .n0 { fill: #58a6ff } .n1 { fill: #ffa657 } .n2 { fill: #56d364 } .n3 { fill: #d2a8ff } .n4 { fill: #e3b341 }
    .n5 { fill: #ff9bce } .n6 { fill: #b1bac4 }
  }
`

const looks = 7 // number of line styles above

// svg draws the plot.
func (p plot) svg() string {
	var xs, ys []float64
	for _, s := range p.series {
		for _, at := range s.points {
			xs, ys = append(xs, at.x), append(ys, at.low, at.high)
		}
	}
	x, y := p.x.scale(xs, left, right), p.y.scale(ys, bottom, top)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n<style>%s</style>\n", escape(p.title), style)
	fmt.Fprintf(&b, `<rect class="back" width="%d" height="%d" rx="6"/>`+"\n", width, height)
	text := func(class, anchor string, x, y float64, s string) {
		fmt.Fprintf(&b, `<text class="%s" text-anchor="%s" x="%.1f" y="%.1f">%s</text>`+"\n", class, anchor, x, y, escape(s))
	}
	line := func(class string, x1, y1, x2, y2 float64) {
		fmt.Fprintf(&b, `<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", class, x1, y1, x2, y2)
	}
	text("title", "start", left, 24, p.title)
	text("small", "start", left, 42, p.y.caption())
	text("small", "middle", (left+right)/2, bottom+44, p.x.caption())
	for _, tick := range y.ticks {
		line("grid", left, y.at(tick), right, y.at(tick))
		text("small", "end", left-8, y.at(tick)+4, short(tick))
	}
	for _, tick := range x.ticks {
		line("grid", x.at(tick), top, x.at(tick), bottom)
		text("small", "middle", x.at(tick), bottom+18, short(tick))
	}
	for _, m := range p.marks {
		if m.x < x.low || m.x > x.high {
			continue
		}
		line("mark", x.at(m.x), top, x.at(m.x), bottom)
		text("small", "start", x.at(m.x)+5, bottom-7, m.text)
	}
	for i, s := range p.series {
		class := fmt.Sprintf("line s%d", i%looks)
		if s.ours {
			class += " ours"
		}
		path := make([]string, len(s.points))
		for j, at := range s.points {
			path[j] = fmt.Sprintf("%.1f,%.1f", x.at(at.x), y.at(at.y))
			if at.low < at.high {
				line(fmt.Sprintf("range s%d", i%looks), x.at(at.x), y.at(at.low), x.at(at.x), y.at(at.high))
			}
		}
		fmt.Fprintf(&b, `<polyline class="%s" points="%s"/>`+"\n", class, strings.Join(path, " "))
	}
	for i, at := range p.labels(y) {
		class := fmt.Sprintf("line s%d", i%looks)
		if p.series[i].ours {
			class += " ours"
		}
		line(class, right+8, at-4, right+34, at-4)
		text(fmt.Sprintf("n%d", i%looks), "start", right+40, at, p.series[i].name)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// labels returns the vertical position of each line's name. We put a name beside the
// end of its line, and move it only if it would overlap another name there.
func (p plot) labels(y scale) []float64 {
	const apart = 18
	type label struct {
		series int
		at     float64
	}
	var list []label
	for i, s := range p.series {
		if len(s.points) > 0 {
			list = append(list, label{i, y.at(s.points[len(s.points)-1].y) + 4})
		}
	}
	slices.SortFunc(list, func(a, b label) int {
		if a.at < b.at {
			return -1
		}
		return 1
	})
	for i := range list {
		if i > 0 {
			list[i].at = max(list[i].at, list[i-1].at+apart)
		}
	}
	for i := len(list) - 1; i >= 0; i-- { // push those that ended up below the plot back up
		list[i].at = min(list[i].at, bottom+4-apart*float64(len(list)-1-i))
	}
	at := make([]float64, len(p.series))
	for _, l := range list {
		at[l.series] = l.at
	}
	return at
}

// A scale maps values to positions on the canvas.
type scale struct {
	log       bool
	low, high float64
	from, to  float64 // the positions of low and high
	ticks     []float64
}

func (s scale) at(value float64) float64 {
	low, high := s.low, s.high
	if s.log {
		value, low, high = math.Log10(value), math.Log10(low), math.Log10(high)
	}
	return s.from + (value-low)/(high-low)*(s.to-s.from)
}

// scale returns a scale that puts all values between from and to.
func (a axis) scale(values []float64, from, to float64) scale {
	s := a.round(values, from, to)
	if a.ticks != nil {
		s.ticks = a.ticks
	}
	return s
}

func (a axis) round(values []float64, from, to float64) scale {
	s := scale{log: a.log, from: from, to: to, low: 0, high: 1}
	if len(values) > 0 {
		s.high = slices.Max(values)
	}
	if !a.log {
		step := math.Pow(10, math.Floor(math.Log10(s.high)))
		for _, part := range []float64{1, 2, 5} {
			if s.high/(step/part) >= 4 {
				step /= part
				break
			}
		}
		s.high = step * math.Ceil(s.high/step)
		for i := 0.0; i*step <= s.high; i++ {
			s.ticks = append(s.ticks, i*step)
		}
		return s
	}
	s.low, s.high = 1, max(s.high, 10)
	if len(values) > 0 {
		s.low = math.Pow(10, math.Floor(math.Log10(slices.Min(values))))
	}
	s.high = max(s.high, 10*s.low)
	for tick := s.low; tick <= s.high*1.0001; tick *= 10 {
		s.ticks = append(s.ticks, tick)
	}
	return s
}

func (a axis) caption() string {
	if a.log {
		return a.title + " (logarithmic)"
	}
	return a.title
}

// short prints a tick's value.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%gM", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%.3gk", v/1e3)
	case v >= 1e3:
		return fmt.Sprintf("%g", v)
	default:
		return fmt.Sprintf("%.3g", v)
	}
}

func escape(s string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(s)) // writing to a Builder can't fail
	return b.String()
}
