// Package modproxy makes a module proxy out of the work tree. It allows us to build
// this repository's modules in the same way as users do, without go.work, even before
// their next version has been published.
package modproxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// A Module is a module of this repository.
type Module struct {
	Path string
	Dir  string
}

// Modules returns the modules of the workspace that contains dir.
func Modules(dir string) ([]Module, error) {
	cmd := exec.Command("go", "list", "-m", "-json")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("modproxy: go list -m: %w", err)
	}
	var list []Module
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var m Module
		if err := d.Decode(&m); err != nil {
			return nil, fmt.Errorf("modproxy: go list -m: %w", err)
		}
		list = append(list, m)
	}
	return list, nil
}

var requirement = regexp.MustCompile(`(github\.com/snowkey-go/snowkey[\w/.-]*) (v[0-9][^\s)]*)`)

// Versions returns the versions that a go.mod or go.work file requires of our modules.
func Versions(file []byte) (versions []string) {
	for _, match := range requirement.FindAllSubmatch(file, -1) {
		versions = append(versions, string(match[2]))
	}
	return versions
}

// SetVersions replaces these versions by the given one.
func SetVersions(file []byte, version string) []byte {
	return requirement.ReplaceAll(file, []byte("$1 "+version))
}

// Version returns the version that the go.mod files require of our modules. It must be
// the same everywhere.
func Version(modules []Module) (string, error) {
	var version string
	for _, m := range modules {
		mod, err := os.ReadFile(filepath.Join(m.Dir, "go.mod"))
		if err != nil {
			return "", fmt.Errorf("modproxy: %w", err)
		}
		for _, v := range Versions(mod) {
			if version == "" {
				version = v
			}
			if v != version {
				return "", fmt.Errorf("modproxy: %s requires version %s of a module of this repository, and others require %s", m.Path, v, version)
			}
		}
	}
	if version == "" {
		return "", errors.New("modproxy: no go.mod file requires a module of this repository")
	}
	return version, nil
}

// Write fills the folder dir with the given version of the modules. To use it, set
// GOPROXY to file://dir.
func Write(dir, version string, modules []Module) error {
	for _, m := range modules {
		if err := write(dir, module.Version{Path: m.Path, Version: version}, m.Dir); err != nil {
			return fmt.Errorf("modproxy: %s: %w", m.Path, err)
		}
	}
	return nil
}

// Zip returns the name of the file that has the module's source in the proxy in dir.
func Zip(dir string, m module.Version) string {
	return filepath.Join(dir, filepath.FromSlash(m.Path), "@v", m.Version+".zip")
}

func write(dir string, m module.Version, source string) error {
	at := filepath.Dir(Zip(dir, m))
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": m.Version, "Time": time.Now().UTC()})
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"list": []byte(m.Version + "\n"), m.Version + ".mod": mod, m.Version + ".info": info} {
		if err := os.WriteFile(filepath.Join(at, name), content, 0o644); err != nil {
			return err
		}
	}
	f, err := os.Create(Zip(dir, m))
	if err != nil {
		return err
	}
	return errors.Join(zip.CreateFromDir(f, m, source), f.Close())
}

// Env returns the environment in which to run go with the proxy in dir. Modules are
// kept in cache instead of the usual module cache, because an unpublished version may
// change later. However, go looks for other modules in the usual module cache first.
func Env(dir, cache string) ([]string, error) {
	out, err := exec.Command("go", "env", "GOMODCACHE", "GOPROXY").Output()
	usual, upstream, ok := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil || !ok {
		return nil, fmt.Errorf("modproxy: go env: %w", err)
	}
	proxies := []string{"file://" + filepath.ToSlash(dir), "file://" + filepath.ToSlash(usual) + "/cache/download", upstream}
	return append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod -modcacherw -trimpath", "GONOSUMDB=github.com/snowkey-go/*", "GOPRIVATE=", "GONOPROXY=",
		"GOPROXY="+strings.Join(proxies, ","), "GOMODCACHE="+cache), nil
}
