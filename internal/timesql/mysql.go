package timesql

import (
	"fmt"
	"time"
)

// mysql writes functions for MySQL and MariaDB. A generated column or an index can't call
// them, but can contain their expressions.
func mysql(f form) (create, drop []string) {
	const head = "CREATE FUNCTION snowkey_%s(%s) RETURNS %s\n    DETERMINISTIC NO SQL SQL SECURITY INVOKER\n%s"
	datetime := "DATETIME"
	if n := f.digits(); n > 0 {
		datetime = fmt.Sprintf("DATETIME(%d)", n)
	}
	for _, p := range f.fields {
		result, x := "BIGINT", p.of("id")
		if p.name == "time" {
			result = datetime
			x = f.guard(x, fmt.Sprintf("TIMESTAMP'%s' + INTERVAL %s MICROSECOND", timestamp(f.epoch), times(x, in(time.Microsecond, f.unit))))
		}
		create = append(create, fmt.Sprintf(head, p.name, "id BIGINT", result, "    RETURN "+x))
		drop = append(drop, "DROP FUNCTION snowkey_"+p.name)
	}
	outside := fmt.Sprintf("t < TIMESTAMP'%s'", timestamp(f.epoch))
	if f.end.Before(endOf9999) {
		outside += fmt.Sprintf(" OR t >= TIMESTAMP'%s'", timestamp(f.end))
	}
	tick := fmt.Sprintf("TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'%s', t)", timestamp(f.epoch))
	if n := in(time.Microsecond, f.unit); n > 1 {
		tick = fmt.Sprintf("(%s DIV %d)", tick, n)
	}
	body := fmt.Sprintf(`BEGIN
    DECLARE message VARCHAR(128) DEFAULT CONCAT('snowkey_min_id: ', t, ' is not from %s until %s');
    IF %s THEN
        SIGNAL SQLSTATE '22008' SET MESSAGE_TEXT = message;
    END IF;
    RETURN %s;
END`, timestamp(f.epoch), timestamp(f.end), outside, f.withFixed(fmt.Sprintf("%s << %d", tick, f.shift)))
	create = append(create,
		fmt.Sprintf(head, "min_id", "t DATETIME(6)", "BIGINT", body),
		fmt.Sprintf(head, "max_id", "t DATETIME(6)", "BIGINT", fmt.Sprintf("    RETURN snowkey_min_id(t) | %d", f.low())))
	drop = append(drop, "DROP FUNCTION snowkey_max_id", "DROP FUNCTION snowkey_min_id")
	return create, drop
}
