package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease/filestore"
)

const fleetText = "orders 0 7\npayments 8 511\nspare 512 1023\n"

func fleetFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fleet.txt")
	dbtest.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// TestFleetCheckFile checks the JSON and the errors. The table is on a page, for TestPages.
func TestFleetCheckFile(t *testing.T) {
	t.Parallel()
	var all struct {
		Layout string
		Ranges []struct {
			Service     string
			First, Last int64
			Spare       bool
		}
	}
	got := call(t, nil, "fleet", "check", fleetFile(t, fleetText), "--json")
	if err := json.Unmarshal([]byte(got.out), &all); err != nil || fmt.Sprint(all.Ranges) != "[{orders 0 7 false} {payments 8 511 false} {spare 512 1023 true}]" || all.Layout != idgen.DefaultLayout().String() {
		t.Errorf("%+v: %v", got, err)
	}
	for text, want := range map[string][]string{
		"orders 0 8\npayments 8 1023\n": {"line 2", `"orders"`, `"payments"`},
		"orders 0 8\n":                  {"spare 9 1023"},
	} {
		got := call(t, nil, "fleet", "check", fleetFile(t, text))
		for _, want := range want {
			if got.status != 1 || got.out != "" || !strings.Contains(got.errors, want) {
				t.Errorf("%+v; want %s", got, want)
			}
		}
	}
}

// TestFleetCheckStore checks a store with processes that keep to the file, and one with
// processes that don't.
func TestFleetCheckStore(t *testing.T) {
	t.Parallel()
	file := fleetFile(t, fleetText)
	eachStore(t, func(t *testing.T, s store, args []string) {
		check := func(service string, more ...string) called {
			t.Helper()
			return call(t, nil, append(append([]string{"fleet", "check", file, "--service", service}, args...), more...)...)
		}
		dbtest.NoError(t, s.Migrate(t.Context()))
		check("orders").says(t, 1, "no such namespace")
		hold(t, s, dbtest.Must(snowkey.Config{Label: "pod a"}.ForService(fleetText, "orders"))(t))
		if got := check("orders"); got.status != 0 || got.out != "nothing looks wrong\n" {
			t.Errorf("a process of orders: %+v", got)
		}
		check("orders", "--namespace", "order").says(t, 1, `"order"`)
		check("order").says(t, 1, `"order" is not`)
		if got := check("payments"); got.status != 1 || !strings.Contains(got.out, `outside: "pod a" in namespace "default" holds worker number`) || !strings.Contains(got.out, "of orders, which has 0 to 7, and payments has 8 to 511") {
			t.Errorf("the wrong service: %+v", got)
		}
		hold(t, s, snowkey.Config{MinWorker: 600, MaxWorker: 600, Namespace: "other", Label: "pod c\x1b[31m"})
		hold(t, s, snowkey.Config{Layout: idgen.JSSafe(), Namespace: "zip", Label: "pod b"})
		var found []struct{ Kind, Text, Remedy string }
		got := check("orders", "--json")
		if err := json.Unmarshal([]byte(got.out), &found); err != nil || got.status != 1 || len(found) != 2 {
			t.Fatalf("%+v: %v", got, err)
		}
		for i, want := range [][]string{
			{"outside", `pod c\x1b[31m`, `"other"`, "worker number 600 of the spare range 512 to 1023", "orders has 0 to 7"},
			{"layout", `"pod b"`, `"zip"`, idgen.JSSafe().String(), idgen.DefaultLayout().String()},
		} {
			for _, text := range want {
				if all := fmt.Sprint(found[i]); !strings.Contains(all, text) {
					t.Errorf("%s does not say %s", all, text)
				}
			}
		}
		if got := check("orders", "--namespace", "default"); got.status != 0 {
			t.Errorf("one namespace: %+v", got)
		}
	})
}

// The commands that take the settings of the processes must take the fleet, too.
func TestFleetOfCommands(t *testing.T) {
	t.Parallel()
	file, dir := fleetFile(t, fleetText), filepath.Join(t.TempDir(), "leases")
	s := filestore.Dir(dir)
	for range 8 {
		hold(t, s, dbtest.Must(snowkey.Config{}.ForService(fleetText, "orders"))(t))
	}
	flags := func(command, service string, more ...string) called {
		return call(t, nil, append([]string{command, "--dir", dir, "--fleet", file, "--service", service}, more...)...)
	}
	flags("doctor", "orders").prints(t, 1, "crowded: 8 of 8 workers (0 to 7)")
	if got := flags("doctor", "payments"); strings.Contains(got.out, "crowded") {
		t.Errorf("%+v", got)
	}
	flags("fence", "orders", "--yes", "--min-worker", "1").says(t, 1, "Config.MinWorker")
	flags("fence", "order", "--yes").says(t, 1, `"order" is not`)
	flags("fence", "orders", "--yes", "--layout", "jssafe").says(t, 1, idgen.JSSafe().String())
	if got := flags("fence", "orders", "--yes"); got.status != 0 {
		t.Errorf("%+v", got)
	}
}
