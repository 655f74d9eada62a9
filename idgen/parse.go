package idgen

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseLayout returns the layout with this text. It's the exact inverse of
// [Layout.String] and only accepts that spelling, so two layouts are equal if and only if
// their texts are.
func ParseLayout(text string) (Layout, error) {
	var epoch time.Time
	var unit time.Duration
	var fields []Field
	var wrong string // what is wrong with the text
	for i, field := range strings.Split(text, between) {
		// name:bits, name:bits = value or time:bits × unit since epoch
		name, rest, _ := strings.Cut(field, ":")
		bits, value, fixed := strings.Cut(rest, " = ")
		f := Field{Name: name, Fixed: fixed}
		switch {
		case i == 0 && name == "0" && !fixed:
			continue // the unused bits
		case fixed:
			f.Value = parse(&wrong, value, parseInt)
		case new(Layout).span(name) == nil:
			wrong = cmp.Or(wrong, fmt.Sprintf("%q is neither time, worker, rollback nor sequence, and holds no value", name))
		case name == timeField:
			bits, rest, _ = strings.Cut(bits, " × ")
			ticks, since, _ := strings.Cut(rest, " since ")
			unit, epoch = parse(&wrong, ticks, time.ParseDuration), parse(&wrong, since, parseTime)
		}
		f.Bits = parse(&wrong, bits, strconv.Atoi)
		fields = append(fields, f)
	}
	if wrong != "" {
		return Layout{}, layoutError("layout", fmt.Sprintf("%q is not what Layout.String writes (%s); use its text unchanged", text, wrong))
	}
	l, err := NewLayout(epoch, unit, fields...)
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

// parse reads a part of a field with the function as. If it can't, it sets wrong, unless
// that is set already.
func parse[T any](wrong *string, text string, as func(string) (T, error)) T {
	v, err := as(text)
	if err != nil {
		*wrong = cmp.Or(*wrong, fmt.Sprintf("%q is no %T", text, v))
	}
	return v
}

func parseInt(s string) (int64, error)      { return strconv.ParseInt(s, 10, 64) }
func parseTime(s string) (time.Time, error) { return time.Parse(time.RFC3339Nano, s) }
