//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package dbtest

import (
	"strings"
	"testing"
)

func TestVersionThatIsNotKnown(t *testing.T) {
	for _, e := range []engine{postgres, mysql} {
		t.Setenv(e.env+"_VERSION", "7")
		if _, err := e.startFound(false); err == nil || !strings.Contains(err.Error(), e.env+"_VERSION=7: the versions are ") {
			t.Errorf("version 7 of %s: %v", e.name, err)
		}
	}
}

func TestOnlyTheChosenVersionIsUsed(t *testing.T) {
	for _, e := range []engine{postgres, mysql} {
		t.Run(e.name, func(t *testing.T) {
			requirePrograms(t, e.name)
			in, err := e.programs()
			if err != nil {
				t.Fatal(err)
			}
			e.versions = map[string]version{"1": {fetch: func() (installation, error) { return in, nil }}}
			t.Setenv(e.env+"_VERSION", "1")
			srv, err := e.startFound(false)
			if err == nil {
				srv.stop()
			}
			if err == nil || !strings.Contains(err.Error(), e.env+"_VERSION=1, but ") {
				t.Errorf("version 1 of %s: %v", e.name, err)
			}
		})
	}
}

// TestServersAreDistinct checks that servers don't get an identity from the data
// directory that they're a copy of.
func TestServersAreDistinct(t *testing.T) {
	for _, dialect := range []string{"postgres", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			requirePrograms(t, dialect)
			seen := map[string]bool{}
			for range 3 { // the first one may be what the others are copies of
				db := fastServer(t, dialect)
				query := "SELECT system_identifier FROM pg_control_system()"
				switch {
				case db.MariaDB:
					query = "SELECT CONCAT(@@hostname, ':', @@port)" // it has no identity of its own
				case dialect == "mysql":
					query = "SELECT @@server_uuid"
				}
				var id string
				if err := db.read(query, &id); err != nil {
					t.Fatal(err)
				}
				if seen[id] {
					t.Errorf("two servers are %s", id)
				}
				seen[id] = true
			}
		})
	}
}
