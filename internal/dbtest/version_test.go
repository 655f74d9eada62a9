//go:build unix

package dbtest

import (
	"strings"
	"testing"
)

func TestVersions(t *testing.T) {
	for _, e := range []engine{postgres, mysql} {
		if _, err := e.start(Options{Version: "7"}); err == nil || !strings.Contains(err.Error(), e.env+"_VERSION=7: the versions are ") {
			t.Errorf("version 7 of %s: %v", e.name, err)
		}
		t.Run(e.name, func(t *testing.T) {
			atNight(t)
			requirePrograms(t, e.name)
			in, err := e.programs("")
			if err != nil {
				t.Fatal(err)
			}
			e.versions = map[string]version{"1": {fetch: func() (installation, error) { return in, nil }}}
			t.Setenv(e.env+"_VERSION", "1")
			s, err := e.start(Options{fast: true})
			if err == nil {
				s.stop()
			}
			if err == nil || !strings.Contains(err.Error(), e.env+"_VERSION=1, but ") {
				t.Errorf("version 1 of %s: %v", e.name, err)
			}
		})
	}
}
