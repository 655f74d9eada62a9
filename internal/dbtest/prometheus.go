package dbtest

import "os/exec"

// Prometheus returns the paths of prometheus and promtool. They are looked for in the
// same places as the servers.
func Prometheus(t TB) (prometheus, promtool string) {
	t.Helper()
	find := func() bool {
		var err, err2 error
		prometheus, err = exec.LookPath("prometheus")
		promtool, err2 = exec.LookPath("promtool")
		return err == nil && err2 == nil
	}
	if err := obtain("prometheus", "prometheus and promtool", find); err != nil {
		missing(t, err)
	}
	return prometheus, promtool
}
