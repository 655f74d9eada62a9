// Tidy runs go mod tidy in each module of the workspace, using a module proxy of the
// work tree.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/snowkey-go/snowkey/test/modproxy"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "tidy:", err)
		os.Exit(1)
	}
}

func run() error {
	modules, err := modproxy.Modules(".")
	if err != nil {
		return err
	}
	version, err := modproxy.Version(modules)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "snowkey-modproxy")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	proxy := filepath.Join(dir, "proxy")
	if err := modproxy.Write(proxy, version, modules); err != nil {
		return err
	}
	env, err := modproxy.Env(proxy, filepath.Join(dir, "cache"))
	if err != nil {
		return err
	}
	for _, m := range modules {
		if err := forget(m.Dir); err != nil {
			return err
		}
		cmd := exec.Command("go", "mod", "tidy")
		cmd.Dir, cmd.Env = m.Dir, env
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", m.Path, err)
		}
		if err := forget(m.Dir); err != nil {
			return err
		}
	}
	return nil
}

// forget removes the sums of our own modules from a go.sum, since an unpublished
// version may still change.
func forget(dir string) error {
	name := filepath.Join(dir, "go.sum")
	content, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var kept strings.Builder
	for line := range strings.Lines(string(content)) {
		if !strings.HasPrefix(line, "github.com/snowkey-go/") {
			kept.WriteString(line)
		}
	}
	return os.WriteFile(name, []byte(kept.String()), 0o644)
}
