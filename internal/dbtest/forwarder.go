package dbtest

import (
	"os/exec"
	"path/filepath"
	"strings"
)

// A forwarder is a program between a client and its database, such as a pooler or a load
// balancer. It is looked for in the same places as the servers.
type forwarder struct {
	program string   // its name
	pack    string   // the Debian and Ubuntu package
	version string   // the option that prints its version
	options []string // the other options; the last argument is the configuration file
	quit    string   // as in installation

	// config returns the configuration. dir is a folder for the program's files.
	config func(dir string, port int) string
	// dsn returns the DSN by which dbtest checks that the program answers. Its database
	// must be one that no other server has.
	dsn func(port int) string
}

// start runs the program in front of a server of e until the test ends, and returns the
// DSN.
func (f forwarder) start(t TB, e engine) (dsn string) {
	t.Helper()
	e.name, e.needs, e.pack, e.versions = f.program, f.program, f.pack, nil
	var version []byte
	e.find = func(look finder) (installation, bool) {
		paths, ok := look([]string{"/usr/sbin", "/usr/local/sbin"}, f.program)
		if !ok {
			return installation{}, false
		}
		version, _ = exec.Command(paths[0], f.version).CombinedOutput()
		return installation{
			initialise: func(string) []string { return []string{"true"} },
			serve: func(dir, _ string, port int, _ bool) []string {
				file := filepath.Join(dir, "config")
				command := append(append([]string{paths[0]}, f.options...), file)
				return append([]string{"sh", "-c", `printf '%s\n' "$1" >"$0" && shift && exec "$@"`, file, f.config(dir, port)}, command...)
			},
			dsn:  f.dsn,
			quit: f.quit,
		}, true
	}
	srv, err := e.startFound(false)
	if err != nil {
		missing(t, err)
	}
	t.Cleanup(srv.stop)
	name, _, _ := strings.Cut(string(version), "\n")
	t.Logf("%s", name)
	return srv.dsn
}
