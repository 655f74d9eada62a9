//go:build modules

package modproxy_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/test/modproxy"
)

// A proxy serves the modules in the work tree.
type proxy struct {
	modules []modproxy.Module
	version string
	dir     string
	env     []string
}

func newProxy(t *testing.T) proxy {
	t.Helper()
	modules := dbtest.Must(modproxy.Modules("."))(t)
	version := dbtest.Must(modproxy.Version(modules))(t)
	dir := t.TempDir()
	dbtest.NoError(t, modproxy.Write(dir, version, modules))
	return proxy{modules, version, dir, dbtest.Must(modproxy.Env(dir, t.TempDir()))(t)}
}

// run runs a go command outside of the workspace, as users do.
func (p proxy) run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, append(p.env, "SNOWKEY_TEST_DB=sqlite", "GOBIN="+filepath.Join(p.dir, "bin"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s%s", strings.Join(args, " "), err, out, &stderr)
	}
	return string(out)
}

// The go.mod of each module must require everything that the module's packages and
// tests need. If built from their zip files, the published modules must pass vet. At
// night, the integrations and the command must also pass their tests on SQLite, with the
// oldest versions of what they import.
func TestModules(t *testing.T) {
	p := newProxy(t)
	for _, m := range p.modules {
		path := strings.TrimPrefix(m.Path, "github.com/snowkey-go/snowkey/")
		t.Run(path, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "module")
			v := module.Version{Path: m.Path, Version: p.version}
			dbtest.NoError(t, zip.Unzip(dir, v, modproxy.Zip(p.dir, v)))
			before := read(t, dir, "go.mod")
			switch path {
			case "test", "examples", "examples/web":
				p.run(t, dir, "list", "-deps", "-test", "./...")
			case "ent/entid", "hooks/gormid", "hooks/bunid", "metrics/snowkeyotel", "service", "service/client", "metrics/snowkeyprom", "lease/zkstore", "vet", "cmd/snowkey":
				if dbtest.Nightly {
					p.run(t, dir, "test", "-count=1", "./...")
				}
				fallthrough
			default:
				p.run(t, dir, "vet", "./...")
			}
			if path == "cmd/snowkey" {
				p.run(t, "", "install", m.Path+"@"+p.version)
			}
			if after := read(t, dir, "go.mod"); after != before {
				t.Errorf("go.mod is not complete; run make tidy. It became\n%s", after)
			}
		})
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	return string(dbtest.Must(os.ReadFile(filepath.Join(dir, name)))(t))
}
