// Package golangci turns the rules of package vet into a golangci-lint linter called
// snowkey, using the module plugin system. Name the plugin in .custom-gcl.yml, and then
// golangci-lint custom builds a golangci-lint that includes it:
//
//	version: v2.15.0
//	plugins:
//	  - module: github.com/snowkey-go/snowkey/vet
//	    import: github.com/snowkey-go/snowkey/vet/golangci
//	    version: v0.1.0
//
// Enable the linter in .golangci.yml:
//
//	linters:
//	  enable: [snowkey]
//	  settings:
//	    custom:
//	      snowkey:
//	        type: module
//	        settings: # all of them may be left out
//	          tables: [users, orders] # only these
//	          counted: [invoices]     # tables that nothing in the program creates
//	          safe: true              # the layout is idgen.JSSafe
//	          hints: true             # report hints, too
//
// Like go vet, golangci-lint applies the rules to one package at a time. The command snowkey
// vet finds more.
package golangci

import (
	"fmt"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/snowkey-go/snowkey/vet"
)

func init() { register.Plugin("snowkey", newPlugin) }

type plugin struct {
	vet.Config
	Hints bool
}

func newPlugin(settings any) (register.LinterPlugin, error) {
	p, err := register.DecodeSettings[plugin](settings)
	if err != nil {
		return nil, fmt.Errorf("snowkey: %w; the settings are tables, counted, safe and hints", err)
	}
	return p, nil
}

func (plugin) GetLoadMode() string { return register.LoadModeTypesInfo }

func (p plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	all := vet.Analyzers(p.Config)
	if p.Hints {
		return all, nil
	}
	for _, a := range all {
		run := a.Run
		a.Run = func(pass *analysis.Pass) (any, error) {
			report := pass.Report
			pass.Report = func(d analysis.Diagnostic) {
				if d.Category != vet.Hint {
					report(d)
				}
			}
			return run(pass)
		}
	}
	return all, nil
}
