package golangci

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis/analysistest"
)

// The plugin reports what package vet does, but hints only if they are wanted.
func TestPlugin(t *testing.T) {
	open, err := register.GetPlugin("snowkey")
	if err != nil {
		t.Fatal(err)
	}
	testdata, err := filepath.Abs("../testdata")
	if err != nil {
		t.Fatal(err)
	}
	found := func(settings any) (orders, others int) {
		t.Helper()
		plugin, err := open(settings)
		if err != nil {
			t.Fatal(err)
		}
		analyzers, err := plugin.BuildAnalyzers()
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range analyzers {
			if a.Name != "order" && a.Name != "column" {
				continue
			}
			for _, r := range analysistest.Run(ignore{t}, testdata, a, a.Name) {
				if a.Name == "order" {
					orders += len(r.Diagnostics)
				} else {
					others += len(r.Diagnostics)
				}
			}
		}
		return orders, others
	}
	orders, all := found(nil)
	if orders != 0 || all == 0 {
		t.Errorf("%d hints and %d others; want no hint", orders, all)
	}
	if orders, _ := found(map[string]any{"hints": true}); orders == 0 {
		t.Error("no hint")
	}
	if _, others := found(map[string]any{"tables": []string{"none"}}); others >= all {
		t.Errorf("%d of %d findings of other tables", others, all)
	}
	if _, err := open(map[string]any{"table": "users"}); err == nil || !strings.Contains(err.Error(), `unknown field "table"`) {
		t.Errorf("a setting that there is none of: %v", err)
	}
}

// An ignore ignores that expected findings are missing.
type ignore struct{ *testing.T }

func (ignore) Errorf(string, ...any) {}
