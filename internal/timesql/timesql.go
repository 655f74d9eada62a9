package timesql

import (
	"embed"
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/sqldialect"
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
	var text strings.Builder
	if err := templates.ExecuteTemplate(&text, d.file, newForm(l, d.precision, d.last)); err != nil {
		return nil, nil, fmt.Errorf("timesql: %w", err)
	}
	sections := sqldialect.Sections(text.String())
	return sqldialect.Statements(sections["create"]), sqldialect.Statements(sections["drop"]), nil
}

// endOf9999 is the end of the years with four digits, to the microsecond.
var endOf9999 = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).Add(-time.Microsecond)

var dialects = map[string]struct {
	title     string
	precision time.Duration // of its times
	last      time.Time     // the last time that all supported versions can represent
	file      string
}{
	"postgres":   {"Postgres", time.Microsecond, endOf9999, "postgres.sql"},
	"mysql":      {"MySQL", time.Microsecond, endOf9999, "mysql.sql"},
	"mariadb":    {"MariaDB", time.Microsecond, endOf9999, "mysql.sql"},
	"sqlite":     {"SQLite", time.Millisecond, endOf9999, "sqlite.sql"},
	"clickhouse": {"ClickHouse", time.Microsecond, time.Date(2299, 12, 31, 0, 0, 0, 0, time.UTC), "clickhouse.sql"},
}

//go:embed *.sql
var files embed.FS

// templates make the statements from a form. {{by "/" n}} divides by n, unless that's 1.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"timestamp": timestamp,
	"by": func(operator string, n int64) string {
		if n == 1 {
			return ""
		}
		return fmt.Sprintf(" %s %d", operator, n)
	},
}).ParseFS(files, "*.sql"))

// A form has what the templates need to know about a layout.
type form struct {
	Time   place
	Others []place
	Epoch  time.Time
	Unit   time.Duration
	Fixed  int64 // the bits that the fixed fields above time set
	End    time.Time

	Last    *int64 // the last tick that the dialect can represent, or nil if it can represent all
	largest uint64 // the time from the epoch to the last tick, in units of the precision
}

// A place is a field and its position.
type place struct {
	Name        string
	Shift, bits int
}

// Max is the largest value of the field.
func (p place) Max() uint64 { return 1<<p.bits - 1 }

// String returns the expression for a field of id, with C's operators, which Postgres,
// MySQL, MariaDB and SQLite have in common. Their precedence differs.
func (p place) String() string {
	if p.Shift > 0 {
		return fmt.Sprintf("((id >> %d) & %d)", p.Shift, p.Max())
	}
	return fmt.Sprintf("(id & %d)", p.Max())
}

// plain matches the names that can be part of a function's name in every dialect.
var plain = regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}$`)

func newForm(l idgen.Layout, precision time.Duration, latest time.Time) form {
	f := form{Epoch: l.Epoch(), Unit: l.Unit(), End: l.Lifetime().End}
	f.Fixed, _ = l.MinID(l.Epoch()) // every layout has a first tick
	shift := 0
	for _, field := range slices.Backward(l.Fields()) {
		p := place{field.Name, shift, field.Bits}
		switch {
		case field.Name == "time":
			f.Time = p
		case plain.MatchString(field.Name) && field.Name != "min_id" && field.Name != "max_id":
			f.Others = append(f.Others, p)
		}
		shift += field.Bits
	}
	slices.Reverse(f.Others)
	// A layout can last for longer than a time.Duration, so we compute with 128 bits.
	hi, lo := bits.Mul64(uint64(latest.Unix()-f.Epoch.Unix()), uint64(time.Second))
	lo, carry := bits.Add64(lo, uint64(latest.Nanosecond()), 0)
	lo, borrow := bits.Sub64(lo, uint64(f.Epoch.Nanosecond()), 0)
	hi += carry - borrow
	most := f.Time.Max()
	if hi < uint64(f.Unit) { // otherwise, the quotient doesn't fit, and every tick is before last
		if last, _ := bits.Div64(hi, lo, uint64(f.Unit)); last < most {
			f.Last, most = new(int64(last)), last
		}
	}
	f.largest = most * uint64(f.Unit/precision)
	return f
}

// timestamp returns a time as text, with as many digits as it needs.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.999999") }

// Low is the mask of the bits below the time field.
func (f form) Low() int64 { return 1<<f.Time.Shift - 1 }

// LastMilli is the last millisecond since the epoch.
func (f form) LastMilli() int64 { return f.End.UnixMilli() - f.Epoch.UnixMilli() - 1 }

// EndsBefore10000 reports whether the layout ends before the years with four digits do.
func (f form) EndsBefore10000() bool { return f.End.Before(endOf9999) }

// Digits returns the number of digits after the second that the times of a layout need:
// 0, 3 or 6.
func (f form) Digits() int {
	whole := func(d time.Duration) bool { return f.Unit%d == 0 && time.Duration(f.Epoch.Nanosecond())%d == 0 }
	switch {
	case whole(time.Second):
		return 0
	case whole(time.Millisecond):
		return 3
	}
	return 6
}

// Interval returns the unit as an interval of Postgres.
func (f form) Interval() string {
	switch {
	case f.Unit%time.Second == 0:
		return fmt.Sprintf("%d second", f.Unit/time.Second)
	case f.Unit%time.Millisecond == 0:
		return fmt.Sprintf("%d millisecond", f.Unit.Milliseconds())
	}
	return fmt.Sprintf("%d microsecond", f.Unit.Microseconds())
}

// MultipliesExactly reports whether Postgres can multiply each tick by an interval. It does
// this with a double, so the product must be exact there: a multiple of 2^k is if it's less
// than 2^(53+k).
func (f form) MultipliesExactly() bool {
	return f.largest>>(53+bits.TrailingZeros64(uint64(f.Unit.Microseconds()))) == 0
}
