// Package modproxy makes a module proxy of the work tree, so that the modules of
// this repository can be built as users build them: without go.work, and before
// their next version is published.
package modproxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// Version is the next version of all modules. Their go.mod files require it of each
// other.
const Version = "v0.1.0"

// A Module is a module of this repository.
type Module struct {
	Path string
	Dir  string
}

// Modules lists the modules of the workspace that the current directory is in.
func Modules() ([]Module, error) {
	out, err := exec.Command("go", "list", "-m", "-json").Output()
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

// Write fills dir, to which GOPROXY=file://dir may point then.
func Write(dir string, modules []Module) error {
	for _, m := range modules {
		if err := write(dir, m); err != nil {
			return fmt.Errorf("modproxy: %s: %w", m.Path, err)
		}
	}
	return nil
}

func write(dir string, m Module) error {
	at := filepath.Join(dir, filepath.FromSlash(m.Path), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(m.Dir, "go.mod"))
	if err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": Version, "Time": time.Now().UTC()})
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"list": []byte(Version + "\n"), Version + ".mod": mod, Version + ".info": info} {
		if err := os.WriteFile(filepath.Join(at, name), content, 0o644); err != nil {
			return err
		}
	}
	f, err := os.Create(filepath.Join(at, Version+".zip"))
	if err != nil {
		return err
	}
	return errors.Join(zip.CreateFromDir(f, module.Version{Path: m.Path, Version: Version}, m.Dir), f.Close())
}

// Env returns the environment in which go builds with the proxy in dir, and with the
// module cache in cache: a version that is not published yet may change. Other modules
// come from the usual module cache first.
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
