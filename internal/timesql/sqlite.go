package timesql

import (
	"fmt"
	"strings"
	"time"
)

// sqlite writes two queries, whose expressions can also be used in a view, a generated
// column or an index.
func sqlite(f form) (create, drop []string) {
	var columns []string
	for _, p := range f.fields {
		x := p.of("id")
		if p.name == "time" {
			millis := fmt.Sprintf("(%d + %s)", f.epoch.UnixMilli(), times(x, in(time.Millisecond, f.unit)))
			x = f.guard(x, fmt.Sprintf("strftime('%%Y-%%m-%%d %%H:%%M:%%f', %s / 1000.0, 'unixepoch')", millis))
		}
		columns = append(columns, fmt.Sprintf("%s AS %s", x, p.name))
	}
	read := "SELECT " + strings.Join(columns, ",\n       ") + "\nFROM (SELECT :id AS id)"

	// julianday is exact to 0.1 ms, and counts from a noon: 1970 begins at 2440587.5.
	millis := fmt.Sprintf("CAST(round((julianday(:time) - 2440587.5) * 86400000) AS INTEGER) - %d", f.epoch.UnixMilli())
	inside := "since >= 0"
	if f.end.Before(endOf9999) {
		inside = fmt.Sprintf("since BETWEEN 0 AND %d", f.end.UnixMilli()-f.epoch.UnixMilli()-1)
	}
	tick := "since"
	if n := in(time.Millisecond, f.unit); n > 1 {
		tick = fmt.Sprintf("(since / %d)", n)
	}
	// An expression can't raise an error of its own, so a time outside the layout makes an
	// integer overflow.
	id := fmt.Sprintf("CASE WHEN %s THEN %s WHEN since IS NOT NULL THEN abs(-9223372036854775807 - 1) END", inside, f.withFixed(fmt.Sprintf("%s << %d", tick, f.shift)))
	write := fmt.Sprintf("SELECT min_id, min_id | %d AS max_id\nFROM (SELECT %s AS min_id\n      FROM (SELECT %s AS since))", f.low(), id, millis)
	return []string{read, write}, nil
}
