package timesql

import (
	"fmt"
	"time"
)

// clickhouse writes functions that ClickHouse replaces with their expressions. Their
// arguments can be of any type for integers and times.
func clickhouse(f form) (create, drop []string) {
	unit, read := time.Millisecond, "fromUnixTimestamp64Milli"
	if f.digits() > 3 {
		unit, read = time.Microsecond, "fromUnixTimestamp64Micro"
	}
	since := func(t time.Time) int64 { return t.Unix()*in(unit, time.Second) + int64(t.Nanosecond())/int64(unit) }
	for _, p := range f.fields {
		x := fmt.Sprintf("toInt64(bitAnd(bitShiftRight(toInt64(id), %d), %d))", p.shift, uint64(1)<<p.bits-1)
		if p.name == "time" {
			t := fmt.Sprintf("%s(%d + %s, 'UTC')", read, since(f.epoch), times(x, in(unit, f.unit)))
			if f.last >= 0 {
				t = fmt.Sprintf("if(%s <= %d, %s, NULL)", x, f.last, t)
			}
			x = t
		}
		create = append(create, fmt.Sprintf("CREATE FUNCTION snowkey_%s AS (id) -> %s", p.name, x))
		drop = append(drop, "DROP FUNCTION snowkey_"+p.name)
	}
	// A microsecond is enough, since no tick is shorter.
	micros := "toUnixTimestamp64Micro(toDateTime64(t, 6, 'UTC'))"
	epoch, end := f.epoch.UnixMicro(), f.end.UnixMicro()
	// The cast fails with the text. With throwIf, which ClickHouse doesn't compute in advance,
	// a condition would not use the key of a table.
	check := fmt.Sprintf("toInt64(if(%s < %d OR %s >= %d, 'snowkey_min_id: the time is %s', '0'))", micros, epoch, micros, end, f.bounds())
	id := fmt.Sprintf("bitOr(bitShiftLeft(intDiv(%s - %d, %d), %d), %d)", micros, epoch, in(time.Microsecond, f.unit), f.shift, f.fixed)
	create = append(create,
		fmt.Sprintf("CREATE FUNCTION snowkey_min_id AS (t) -> %s + %s", id, check),
		fmt.Sprintf("CREATE FUNCTION snowkey_max_id AS (t) -> bitOr(snowkey_min_id(t), %d)", f.low()))
	drop = append(drop, "DROP FUNCTION snowkey_max_id", "DROP FUNCTION snowkey_min_id")
	return create, drop
}
