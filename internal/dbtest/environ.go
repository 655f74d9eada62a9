package dbtest

import (
	"fmt"
	"os"
)

// Environ starts a server for each database of the run. It returns the variables
// ("SNOWKEY_TEST_POSTGRES=…") with which the tests of other processes use them, their
// versions for the log, and a function that stops them. If servers are missing, the
// error lists all of them.
func Environ() (env, versions []string, stop func(), err error) {
	var servers []*server
	stop = func() {
		for _, srv := range servers {
			srv.stop()
		}
	}
	names, err := wanted(os.Getenv)
	if err != nil {
		return nil, nil, stop, err
	}
	var missing missingError
	for _, name := range names {
		if name == "sqlite" {
			continue
		}
		srv, err := start(name)
		if m, ok := err.(missingError); ok {
			missing = append(missing, m...)
			continue
		}
		if err != nil {
			return nil, nil, stop, err
		}
		servers = append(servers, srv)
		env = append(env, srv.env+"="+srv.dsn)
		versions = append(versions, fmt.Sprintf("%s from %s", srv.version, srv.origin))
	}
	if len(missing) > 0 {
		return nil, nil, stop, missing
	}
	return env, versions, stop, nil
}
