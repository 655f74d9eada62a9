package idgen

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseLayout returns the layout with this text. It's the exact inverse of
// [Layout.String] and only accepts that spelling, so two layouts are equal if and only if
// their texts are.
func ParseLayout(text string) (Layout, error) {
	p := layoutParser{text: text}
	for i, field := range strings.Split(text, between) {
		if i == 0 && strings.HasPrefix(field, "0:") && !strings.Contains(field, " = ") {
			continue // the unused bits
		}
		p.field(field)
	}
	if p.err != nil {
		return Layout{}, p.err
	}
	l, err := NewLayout(p.epoch, p.unit, p.fields...)
	if err != nil {
		return Layout{}, err
	}
	// Reject other spellings, such as a unit of 1000ms, as well as a wrong number of
	// unused bits.
	if written := l.String(); written != text {
		return Layout{}, layoutError("layout", fmt.Sprintf("%q is not in the form that Layout.String writes; write %q", text, written))
	}
	return l, nil
}

// layoutParser collects the arguments for NewLayout, and remembers the first error.
type layoutParser struct {
	text   string
	epoch  time.Time
	unit   time.Duration
	fields []Field
	err    error
}

// field reads one of
//
//	name:bits
//	name:bits = value
//	time:bits × unit since epoch
func (p *layoutParser) field(text string) {
	name, rest, _ := strings.Cut(text, ":")
	bits, value, fixed := strings.Cut(rest, " = ")
	f := Field{Name: name, Fixed: fixed}
	switch {
	case fixed:
		f.Value = parse(p, value, parseInt)
	case new(Layout).span(name) == nil:
		p.fail(fmt.Sprintf("%q is neither time, worker, rollback nor sequence, and holds no value", name))
	case name == timeField:
		var ticks string
		bits, ticks, _ = strings.Cut(bits, " × ")
		unit, epoch, _ := strings.Cut(ticks, " since ")
		p.unit, p.epoch = parse(p, unit, time.ParseDuration), parse(p, epoch, parseTime)
	}
	f.Bits = parse(p, bits, strconv.Atoi)
	p.fields = append(p.fields, f)
}

// parse reads one part of a field with the function as.
func parse[T any](p *layoutParser, text string, as func(string) (T, error)) T {
	v, err := as(text)
	if err != nil {
		p.fail(fmt.Sprintf("%q is no %T", text, v))
	}
	return v
}

func parseInt(s string) (int64, error)      { return strconv.ParseInt(s, 10, 64) }
func parseTime(s string) (time.Time, error) { return time.Parse(time.RFC3339Nano, s) }

func (p *layoutParser) fail(why string) {
	if p.err == nil {
		p.err = layoutError("layout", fmt.Sprintf("%q is not what Layout.String writes (%s); use its text unchanged", p.text, why))
	}
}
