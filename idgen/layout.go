package idgen

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
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

	time, worker, rollback, sequence span
	constants                        []constant // the fixed fields, highest first
	fixed                            uint64     // the bits that the fixed fields set in each id
	bits                             uint
}

type constant struct {
	name string
	span span
}

// span is the place of a field: its width in bits and the number of bits below it.
type span struct{ shift, bits uint }

func (s span) max() uint64         { return 1<<s.bits - 1 }
func (s span) mask() uint64        { return s.max() << s.shift }
func (s span) put(v int64) uint64  { return uint64(v) << s.shift }
func (s span) get(id uint64) int64 { return int64(id >> s.shift & s.max()) }
func (s span) check(name string, v int64) error {
	if v < 0 || uint64(v) > s.max() {
		return fmt.Errorf("idgen: %s %d does not fit its field (0 to %d); use a number in that range or a layout with a wider field", name, v, int64(s.max()))
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
	switch {
	case epoch.Before(time.Unix(0, 0)):
		return Layout{}, layoutError("epoch", fmt.Sprintf("%s is before 1970; use a later one", epoch.Format(time.RFC3339)))
	case epoch.Year() > 9999:
		return Layout{}, layoutError("epoch", fmt.Sprintf("%s is after 9999, which its text cannot hold; use an earlier one", epoch.Format(time.RFC3339)))
	case unit <= 0:
		return Layout{}, layoutError("unit", fmt.Sprintf("%v is not positive; use time.Millisecond or another duration", unit))
	}
	for _, f := range fields {
		if f.Bits < 1 || f.Bits > 63 {
			return Layout{}, layoutError(f.Name, fmt.Sprintf("has %d bits; use 1 to 63, or leave the field out", f.Bits))
		}
		l.bits += uint(f.Bits)
	}
	if l.bits > 64 {
		return Layout{}, layoutError("layout", fmt.Sprintf("has %d bits; make the fields 63 bits together", l.bits))
	}
	if err := l.place(); err != nil {
		return Layout{}, err
	}
	if high, _ := bits.Mul64(l.time.max(), uint64(unit)); high >= uint64(time.Second)>>2 { // 2^62 s
		return Layout{}, layoutError("time", fmt.Sprintf("of %d bits × %v outlasts the calendar of package time; use fewer bits", l.time.bits, unit))
	}
	return l, nil
}

// place sets the span of each field in order, and checks that the fields go together.
func (l *Layout) place() error {
	shift := l.bits
	names := map[string]bool{}
	for _, f := range l.fields {
		shift -= uint(f.Bits)
		at, variable := span{shift, uint(f.Bits)}, l.span(f.Name)
		switch {
		case f.Name == "" || names[f.Name]:
			return layoutError(cmp.Or(f.Name, "field"), "needs a unique name; rename it")
		case strings.ContainsAny(f.Name, ":│"):
			return layoutError(f.Name, "has a ':' or '│' in its name, which separate the fields in a layout's text; rename it")
		case f.Fixed && (f.Value < 0 || uint64(f.Value) > at.max()):
			return layoutError(f.Name, fmt.Sprintf("%d does not fit its field (0 to %d); use a number in that range or more bits", f.Value, at.max()))
		case f.Fixed:
			l.constants = append(l.constants, constant{f.Name, at})
			l.fixed |= at.put(f.Value)
		case variable == nil:
			return layoutError(f.Name, "is not fixed, and its name is neither time, worker, rollback nor sequence; use idgen.Fixed or one of these names")
		case f.Name != timeField && l.time.bits == 0:
			return layoutError(f.Name, "is above time, so ids would not ascend; put it below")
		case f.Value != 0:
			return layoutError(f.Name, fmt.Sprintf("has the value %d, but only fixed fields have one; leave it out", f.Value))
		default:
			*variable = at
		}
		names[f.Name] = true
	}
	switch {
	case l.time.bits == 0:
		return layoutError("time", "is missing; add idgen.Time(bits)")
	case l.sequence.bits == 0:
		return layoutError("sequence", "is missing; add idgen.Sequence(bits)")
	case l.fixed>>63 != 0:
		return layoutError(l.fields[0].Name, "sets the sign bit, so every id would be negative; use a value with a zero in its highest bit")
	}
	return nil
}

// span returns the place of the field with this name, or nil if only a fixed field can
// have the name.
func (l *Layout) span(name string) *span {
	return map[string]*span{timeField: &l.time, workerField: &l.worker, rollbackField: &l.rollback, sequenceField: &l.sequence}[name]
}

// WithFixed returns the layout with this value in the fixed field name.
func (l Layout) WithFixed(name string, value int64) (Layout, error) {
	i := slices.IndexFunc(l.fields, func(f Field) bool { return f.Fixed && f.Name == name })
	if i < 0 {
		return Layout{}, layoutError(name, "is not a fixed field of this layout; see Layout.Fields")
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
func (l Layout) IsZero() bool { return l.bits == 0 }

// between separates the fields in the text of a layout.
const between = " │ "

// String returns the fields as text, highest bits first, for [ParseLayout] to read.
//
//	0:1 │ time:41 × 1ms since 2025-01-01T00:00:00Z │ worker:10 │ sequence:12
func (l Layout) String() string {
	var b strings.Builder
	if unused := 64 - l.bits; unused > 0 {
		fmt.Fprintf(&b, "0:%d", unused)
	}
	for _, f := range l.fields {
		if b.Len() > 0 {
			b.WriteString(between)
		}
		fmt.Fprintf(&b, "%s:%d", f.Name, f.Bits)
		switch {
		case f.Fixed:
			fmt.Fprintf(&b, " = %d", f.Value)
		case f.Name == timeField:
			fmt.Fprintf(&b, " × %v since %s", l.unit, l.epoch.Format(time.RFC3339Nano))
		}
	}
	return b.String()
}
