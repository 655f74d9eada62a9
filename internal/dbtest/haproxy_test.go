//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package dbtest

import (
	"testing"
	"time"
)

func TestHAProxy(t *testing.T) {
	primary, process := Killable(t, "postgres")
	conn := primary.Connect(t)
	mustExec(t, conn, "CREATE TABLE kept (n INT)")
	standby := StandbyOf(t, primary)
	through := primary.ThroughHAProxy(t, standby.DB).Connect(t)
	mustExec(t, through, insertRow)
	if err := standby.Lag(); err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		_, err := through.Exec(insertRow)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	if n := count(t, standby.Connect(t)); n != 2 {
		t.Errorf("the promoted standby has %d rows", n)
	}
}
