package timesql

import (
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// Dialects are the names that [Statements] accepts.
var Dialects = []string{"postgres", "mysql", "mariadb", "sqlite", "clickhouse"}

// Statements returns the statements that create the functions of a layout in one of the
// [Dialects], and those that drop them. SQLite has no stored functions, so its statements
// are queries with the parameters :id and :time, and there is nothing to drop.
//
// The error tells why the database can't express the layout.
func Statements(l idgen.Layout, dialect string) (create, drop []string, err error) {
	d := dialects[dialect]
	for _, part := range []struct {
		name string
		rest time.Duration
	}{{"unit", l.Unit() % d.precision}, {"epoch", time.Duration(l.Epoch().Nanosecond()) % d.precision}} {
		if part.rest != 0 {
			return nil, nil, fmt.Errorf("timesql: the times of %s have a precision of %v, so it has none for each tick of the layout %v; use a layout whose %s is a multiple of %v",
				d.title, d.precision, l, part.name, d.precision)
		}
	}
	if l.Epoch().After(d.last) {
		return nil, nil, fmt.Errorf("timesql: %s has no times after %s, and the layout %v begins later; use an earlier epoch", d.title, d.last.Format(time.DateOnly), l)
	}
	create, drop = d.write(newForm(l, d.precision, d.last))
	return create, drop, nil
}

// endOf9999 is the end of the years with four digits, to the microsecond.
var endOf9999 = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).Add(-time.Microsecond)

var dialects = map[string]struct {
	title     string
	precision time.Duration // of its times
	last      time.Time     // the last time that all supported versions can represent
	write     func(f form) (create, drop []string)
}{
	"postgres":   {"Postgres", time.Microsecond, endOf9999, postgres},
	"mysql":      {"MySQL", time.Microsecond, endOf9999, mysql},
	"mariadb":    {"MariaDB", time.Microsecond, endOf9999, mysql},
	"sqlite":     {"SQLite", time.Millisecond, endOf9999, sqlite},
	"clickhouse": {"ClickHouse", time.Microsecond, time.Date(2299, 12, 31, 0, 0, 0, 0, time.UTC), clickhouse},
}

// A form has the numbers of a layout that the SQL consists of. Divide the times by the
// precision of the dialect to get integers.
type form struct {
	fields []place // time first
	epoch  time.Time
	unit   time.Duration
	shift  int    // the number of bits below the time field
	fixed  uint64 // the bits that the fixed fields above time set
	end    time.Time

	// last is the last tick that the dialect can represent, or -1 if it can represent
	// all of them.
	last int64
	// largest is the time from the epoch to the last tick, in units of the precision.
	largest uint64
}

// A place is a field and its position.
type place struct {
	name        string
	shift, bits int
}

// low is the mask of the bits below the time field.
func (f form) low() int64 { return 1<<f.shift - 1 }

// plain matches the names that can be part of a function's name in every dialect.
var plain = regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}$`)

func newForm(l idgen.Layout, precision time.Duration, latest time.Time) form {
	f := form{epoch: l.Epoch(), unit: l.Unit(), end: l.Lifetime().End, last: -1}
	shift, aboveTime := 0, true
	for _, field := range l.Fields() {
		shift += field.Bits
	}
	for _, field := range l.Fields() {
		shift -= field.Bits
		p := place{field.Name, shift, field.Bits}
		switch {
		case field.Name == "time":
			f.shift, aboveTime = shift, false
			f.fields = slices.Insert(f.fields, 0, p)
		case plain.MatchString(field.Name) && field.Name != "min_id" && field.Name != "max_id":
			f.fields = append(f.fields, p)
		}
		if field.Fixed && aboveTime {
			f.fixed |= uint64(field.Value) << shift
		}
	}
	// A layout can last for longer than a time.Duration, so we compute with 128 bits.
	hi, lo := bits.Mul64(uint64(latest.Unix()-f.epoch.Unix()), uint64(time.Second))
	lo, carry := bits.Add64(lo, uint64(latest.Nanosecond()), 0)
	lo, borrow := bits.Sub64(lo, uint64(f.epoch.Nanosecond()), 0)
	hi += carry - borrow
	most := uint64(1)<<f.fields[0].bits - 1
	if hi < uint64(f.unit) { // otherwise, the quotient doesn't fit, and every tick is before last
		if last, _ := bits.Div64(hi, lo, uint64(f.unit)); last < most {
			f.last, most = int64(last), last
		}
	}
	f.largest = most * uint64(f.unit/precision)
	return f
}

// in returns the number of units in a duration.
func in(unit, d time.Duration) int64 { return int64(d / unit) }

// timestamp returns a time as text, with as many digits as it needs.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.999999") }

// digits returns the number of digits after the second that the times of a layout need:
// 0, 3 or 6.
func (f form) digits() int {
	whole := func(d time.Duration) bool { return f.unit%d == 0 && time.Duration(f.epoch.Nanosecond())%d == 0 }
	switch {
	case whole(time.Second):
		return 0
	case whole(time.Millisecond):
		return 3
	}
	return 6
}

// field returns the expression for a field of id, with C's operators, which Postgres,
// MySQL, MariaDB and SQLite have in common. Their precedence differs.
func (p place) of(id string) string {
	if p.shift > 0 {
		id = fmt.Sprintf("(%s >> %d)", id, p.shift)
	}
	return fmt.Sprintf("(%s & %d)", id, uint64(1)<<p.bits-1)
}

// times multiplies an expression.
func times(x string, n int64) string {
	if n == 1 {
		return x
	}
	return fmt.Sprintf("%s * %d", x, n)
}

// withFixed adds the fixed bits to an expression.
func (f form) withFixed(x string) string {
	if f.fixed == 0 {
		return x
	}
	return fmt.Sprintf("(%s) | %d", x, f.fixed)
}

// guard returns the expression x, or NULL for ids whose tick is after the last one.
func (f form) guard(tick, x string) string {
	if f.last < 0 {
		return x
	}
	return fmt.Sprintf("CASE WHEN %s <= %d THEN %s END", tick, f.last, x)
}

// bounds describes the lifetime in an error message.
func (f form) bounds() string {
	return fmt.Sprintf("outside the layout, which has ids from %s until %s", timestamp(f.epoch), timestamp(f.end))
}
