package idgen

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Layout divides the bits of an id into fields. It consists of an ordered list of
// fields, from the highest bit to the lowest, and the unit and epoch of the time field:
//
//	 63   62 ─────────────── 22   21 ──── 12   11 ────── 0
//	┌───┬─────────────────────┬──────────────┬──────────────┐
//	│ 0 │ time × 1ms  41 bits │ worker  10   │ sequence 12  │   DefaultLayout
//	└───┴─────────────────────┴──────────────┴──────────────┘
//
// Fields should add up to 63 bits at most, so that all ids are positive. There's support
// for 64-bit layouts too (Discord, Instagram, TSID), but their ids decode as unsigned
// numbers, and generators stop before ids would turn negative. See [Layout.Lifetime] for
// when that is.
//
// A Layout is immutable and safe for concurrent use. The zero Layout isn't valid, except
// in a [Config], where it means [DefaultLayout].
type Layout struct {
	epoch  time.Time
	unit   time.Duration
	fields []Field
	bits   int // of all fields

	spans
	constants []constant // the fixed fields, highest first
	fixed     uint64     // the bits that they set in each id
}

// spans are the places of the fields that are not fixed. A field that is missing has no
// bits.
type spans struct{ time, worker, rollback, sequence span }

// of returns the place of the field with this name, or nil if only a fixed field can have
// the name.
func (s *spans) of(name string) *span {
	return map[string]*span{timeField: &s.time, workerField: &s.worker, rollbackField: &s.rollback, sequenceField: &s.sequence}[name]
}

type constant struct {
	name string
	span
}

// span is the place of a field: its width in bits and the number of bits below it. We
// always shift by shift&63, because then the compiler needs just one instruction for it.
type span struct{ shift, bits uint8 }

func (s span) max() int64          { return 1<<(s.bits&63) - 1 }
func (s span) mask() uint64        { return s.put(s.max()) }
func (s span) put(v int64) uint64  { return uint64(v) << (s.shift & 63) }
func (s span) get(id uint64) int64 { return int64(id>>(s.shift&63)) & s.max() }
func (s span) check(name string, v int64) error {
	if v < 0 || v > s.max() {
		return fmt.Errorf("idgen: %s %d does not fit its field (0 to %d); use a number in that range or a layout with a wider field", name, v, s.max())
	}
	return nil
}

// A Field is a run of bits in a [Layout]. Use [Time], [Worker], [Rollback], [Sequence] or
// [Fixed] to make one.
type Field struct {
	// Name must be "time", "worker", "rollback" or "sequence". For fixed fields, any
	// other name will do as long as it doesn't contain ':' or '│'.
	Name  string
	Bits  int
	Fixed bool  // whether this field holds Value in all ids
	Value int64 // 0 unless Fixed
}

const (
	timeField     = "time"
	workerField   = "worker"
	rollbackField = "rollback"
	sequenceField = "sequence"
)

// Time returns the time field. Every layout must have one, and it has to be above worker,
// rollback and sequence so that ids ascend with time.
func Time(bits int) Field { return Field{Name: timeField, Bits: bits} }

// Worker returns the worker field. Layouts without it only have worker number 0.
func Worker(bits int) Field { return Field{Name: workerField, Bits: bits} }

// Rollback returns the rollback field, which counts how often the clock was set back
// (see [Config.Rotate]). Most layouts have none.
func Rollback(bits int) Field { return Field{Name: rollbackField, Bits: bits} }

// Sequence returns the sequence field. Every layout must have one.
func Sequence(bits int) Field { return Field{Name: sequenceField, Bits: bits} }

// Fixed returns a field with the same value in every id of a generator.
func Fixed(name string, bits int, value int64) Field {
	return Field{Name: name, Bits: bits, Fixed: true, Value: value}
}

// NewLayout returns a layout with these fields, highest bits first. Time is counted in
// units since the epoch. The unit must be positive, and the epoch between the years 1970
// and 9999.
func NewLayout(epoch time.Time, unit time.Duration, fields ...Field) (Layout, error) {
	epoch = epoch.UTC() // also drops the reading of the monotonic clock, if there is one
	l := Layout{epoch: epoch, unit: unit, fields: slices.Clone(fields)}
	for _, f := range fields {
		l.bits += f.Bits
	}
	below, names := l.bits, map[string]bool{}
	for _, f := range fields {
		below -= f.Bits
		at, variable := span{uint8(below), uint8(f.Bits)}, l.of(f.Name)
		switch {
		case f.Name == "" || names[f.Name]:
			return invalid(cmp.Or(f.Name, "field"), "needs a unique name; rename it")
		case strings.ContainsAny(f.Name, ":│"):
			return invalid(f.Name, "has a ':' or '│' in its name, which separate the fields in a layout's text; rename it")
		case f.Bits < 1 || f.Bits > 63:
			return invalid(f.Name, "has %d bits; use 1 to 63, or leave the field out", f.Bits)
		case f.Fixed && (f.Value < 0 || f.Value > at.max()):
			return invalid(f.Name, "%d does not fit its field (0 to %d); use a number in that range or more bits", f.Value, at.max())
		case f.Fixed:
			l.constants = append(l.constants, constant{f.Name, at})
			l.fixed |= at.put(f.Value)
		case variable == nil:
			return invalid(f.Name, "is not fixed, and its name is neither time, worker, rollback nor sequence; use idgen.Fixed or one of these names")
		case f.Name != timeField && l.time.bits == 0:
			return invalid(f.Name, "is above time, so ids would not ascend; put it below")
		case f.Value != 0:
			return invalid(f.Name, "has the value %d, but only fixed fields have one; leave it out", f.Value)
		default:
			*variable = at
		}
		names[f.Name] = true
	}
	high, _ := bits.Mul64(uint64(l.time.max()), uint64(unit))
	switch {
	case l.bits > 64:
		return invalid("layout", "has %d bits; make the fields 63 bits together", l.bits)
	case l.time.bits == 0:
		return invalid("time", "is missing; add idgen.Time(bits)")
	case l.sequence.bits == 0:
		return invalid("sequence", "is missing; add idgen.Sequence(bits)")
	case l.fixed>>63 != 0:
		return invalid(fields[0].Name, "sets the sign bit, so every id would be negative; use a value with a zero in its highest bit")
	case epoch.Before(time.Unix(0, 0)):
		return invalid("epoch", "%s is before 1970; use a later one", epoch.Format(time.RFC3339))
	case epoch.Year() > 9999:
		return invalid("epoch", "%s is after 9999, which its text cannot hold; use an earlier one", epoch.Format(time.RFC3339))
	case unit <= 0:
		return invalid("unit", "%v is not positive; use time.Millisecond or another duration", unit)
	case high >= uint64(time.Second)>>2: // 2^62 s
		return invalid("time", "of %d bits × %v outlasts the calendar of package time; use fewer bits", l.time.bits, unit)
	}
	return l, nil
}

// invalid returns an error that says what is wrong with a field, the epoch, the unit or the
// whole layout, and what to do.
func invalid(what, format string, args ...any) (Layout, error) {
	return Layout{}, fmt.Errorf("idgen: invalid layout: %s %s", what, fmt.Sprintf(format, args...))
}

// WithFixed returns the layout with this value in the fixed field name.
func (l Layout) WithFixed(name string, value int64) (Layout, error) {
	i := slices.IndexFunc(l.fields, func(f Field) bool { return f.Fixed && f.Name == name })
	if i < 0 {
		return invalid(name, "is not a fixed field of this layout; see Layout.Fields")
	}
	fields := slices.Clone(l.fields)
	fields[i].Value = value
	return NewLayout(l.epoch, l.unit, fields...)
}

// WithEpoch returns the layout with another epoch. Don't mix ids of the two layouts in
// one column, as they count time from different points.
func (l Layout) WithEpoch(epoch time.Time) (Layout, error) {
	return NewLayout(epoch, l.unit, l.fields...)
}

// Epoch returns the time of tick 0, in UTC.
func (l Layout) Epoch() time.Time { return l.epoch }

// Unit returns the length of a tick.
func (l Layout) Unit() time.Duration { return l.unit }

// Fields returns the fields, highest bits first.
func (l Layout) Fields() []Field { return slices.Clone(l.fields) }

// IsZero reports whether l is the zero Layout, which has no fields.
func (l Layout) IsZero() bool { return l.unit == 0 }

// between separates the fields in the text of a layout.
const between = " │ "

// String returns the fields as text, highest bits first, for [ParseLayout] to read.
//
//	0:1 │ time:41 × 1ms since 2025-01-01T00:00:00Z │ worker:10 │ sequence:12
func (l Layout) String() string {
	var fields []string
	if unused := 64 - l.bits; unused > 0 {
		fields = append(fields, fmt.Sprintf("0:%d", unused))
	}
	for _, f := range l.fields {
		text := fmt.Sprintf("%s:%d", f.Name, f.Bits)
		switch {
		case f.Fixed:
			text += fmt.Sprintf(" = %d", f.Value)
		case f.Name == timeField:
			text += fmt.Sprintf(" × %v since %s", l.unit, l.epoch.Format(time.RFC3339Nano))
		}
		fields = append(fields, text)
	}
	return strings.Join(fields, between)
}

// ParseLayout returns the layout with this text. It's the exact inverse of
// [Layout.String] and only accepts that spelling, so two layouts are equal if and only if
// their texts are.
func ParseLayout(text string) (Layout, error) {
	var epoch time.Time
	var unit time.Duration
	var fields []Field
	for i, field := range strings.Split(text, between) {
		// name:bits, name:bits = value or time:bits × unit since epoch
		name, rest, _ := strings.Cut(field, ":")
		bits, value, fixed := strings.Cut(rest, " = ")
		f := Field{Name: name, Fixed: fixed}
		var errs [4]error
		switch {
		case i == 0 && name == "0" && !fixed:
			continue // the unused bits
		case fixed:
			f.Value, errs[0] = strconv.ParseInt(value, 10, 64)
		case name == timeField:
			bits, rest, _ = strings.Cut(bits, " × ")
			ticks, since, _ := strings.Cut(rest, " since ")
			unit, errs[1] = time.ParseDuration(ticks)
			epoch, errs[2] = time.Parse(time.RFC3339Nano, since)
		}
		f.Bits, errs[3] = strconv.Atoi(bits)
		if err := cmp.Or(errs[:]...); err != nil {
			return invalid("layout", "%q is not what Layout.String writes (%v); use its text unchanged", text, err)
		}
		fields = append(fields, f)
	}
	l, err := NewLayout(epoch, unit, fields...)
	if err != nil {
		return Layout{}, err
	}
	// Reject other spellings, such as a unit of 1000ms, as well as a wrong number of
	// unused bits.
	if written := l.String(); written != text {
		return invalid("layout", "%q is not in the form that Layout.String writes; write %q", text, written)
	}
	return l, nil
}
