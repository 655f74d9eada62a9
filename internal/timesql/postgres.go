package timesql

import (
	"fmt"
	"math/bits"
	"time"
)

// postgres writes functions that can be used in indexes, generated columns and bounds of
// partitions. All but min_id are SQL expressions that the server inlines. They are bound
// to what they call when they're created, so the search path doesn't matter.
func postgres(f form) (create, drop []string) {
	const head = "CREATE FUNCTION snowkey_%s(%s) RETURNS %s\n    LANGUAGE %s IMMUTABLE PARALLEL SAFE\n%s"
	for _, p := range f.fields {
		result, x := "bigint", p.of("id")
		if p.name == "time" {
			result, x = "timestamptz", f.guard(x, f.postgresTime(x))
		}
		create = append(create, fmt.Sprintf(head, p.name, "id bigint", result, "sql", "    RETURN "+x))
		drop = append(drop, fmt.Sprintf("DROP FUNCTION snowkey_%s(bigint)", p.name))
	}
	tick := fmt.Sprintf("(extract(epoch FROM t - %s) * 1000000)::bigint", postgresLiteral(f.epoch))
	if n := in(time.Microsecond, f.unit); n > 1 {
		tick = fmt.Sprintf("%s / %d", tick, n)
	}
	body := fmt.Sprintf(`AS $$
BEGIN
    IF t < %s OR t >= %s THEN
        RAISE EXCEPTION 'snowkey_min_id: %% is %s', t
            USING ERRCODE = 'datetime_field_overflow';
    END IF;
    RETURN %s;
END
$$`, postgresLiteral(f.epoch), postgresLiteral(f.end), f.bounds(), f.withFixed(fmt.Sprintf("(%s) << %d", tick, f.shift)))
	create = append(create,
		fmt.Sprintf(head, "min_id", "t timestamptz", "bigint", "plpgsql", body),
		fmt.Sprintf(head, "max_id", "t timestamptz", "bigint", "sql", fmt.Sprintf("    RETURN snowkey_min_id(t) | %d", f.low())))
	drop = append(drop, "DROP FUNCTION snowkey_max_id(timestamptz)", "DROP FUNCTION snowkey_min_id(timestamptz)")
	return create, drop
}

// postgresTime multiplies a tick by an interval. The server does this with a double, so
// the product must be exact there: a multiple of 2^k is if it's less than 2^(53+k).
func (f form) postgresTime(tick string) string {
	unit := in(time.Microsecond, f.unit)
	since := fmt.Sprintf("%s * interval '%s'", tick, interval(unit))
	if f.largest>>(53+bits.TrailingZeros64(uint64(unit))) != 0 {
		micros := times(tick, unit)
		since = fmt.Sprintf("(%s / 1000000) * interval '1 second' + (%s %% 1000000) * interval '1 microsecond'", micros, micros)
	}
	return fmt.Sprintf("(timestamp '%s' + %s) AT TIME ZONE 'UTC'", timestamp(f.epoch), since)
}

func interval(micros int64) string {
	switch {
	case micros%1e6 == 0:
		return fmt.Sprintf("%d second", micros/1e6)
	case micros%1e3 == 0:
		return fmt.Sprintf("%d millisecond", micros/1e3)
	}
	return fmt.Sprintf("%d microsecond", micros)
}

func postgresLiteral(t time.Time) string { return fmt.Sprintf("timestamptz '%s+00'", timestamp(t)) }
