//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package dbtest

import "testing"

func TestPgpool(t *testing.T) {
	primary := Durable(t, "postgres")
	conn := primary.Connect(t)
	mustExec(t, conn, "CREATE TABLE kept (n INT)")
	standby := StandbyOf(t, primary, "recovery_min_apply_delay = '1min'")
	through := primary.ThroughPgpool(t, standby).Connect(t)
	mustExec(t, through, insertRow)
	if n := count(t, conn); n != 1 {
		t.Errorf("the primary has %d rows", n)
	}
	if n := count(t, through); n != 0 {
		t.Errorf("%d rows; the read did not go to the standby, which lags", n)
	}
}
