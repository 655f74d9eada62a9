package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// A Config says what's known about the program besides its source. The zero Config is
// ready to use, and reports every key the analyzers recognise.
type Config struct {
	// Tables are the tables with generated keys, without schemas. If set, keys of other
	// tables aren't reported. You can get the list from the plan of package autoinc, or
	// from Inspect in package catalog. Defaults to all tables.
	Tables []string

	// Counted are additional tables with a counted key, for when there's nothing in a
	// package to tell the analyzers. Defaults to none.
	Counted []string

	// Safe says that all ids are below 2^53, as with idgen.JSSafe. JSON numbers and
	// float64 can hold every key in that case and aren't reported. Defaults to false.
	Safe bool
}

// These are the categories of findings.
const (
	Breaks = "breaks" // fails, or changes a key
	Check  = "check"  // may fail, so somebody has to look
	Hint   = "hint"   // matters on 32-bit platforms or during the migration only
)

// Docs is where to find the pages mentioned in findings.
const Docs = "https://github.com/snowkey-go/snowkey/blob/main/docs/"

// Analyzers returns an analyzer for each rule, in the order of the documentation. They
// share an analyzer that finds a package's keys.
func Analyzers(config Config) []*analysis.Analyzer {
	return analyzers(keysAnalyzer(config))
}

func analyzers(keys *analysis.Analyzer) (all []*analysis.Analyzer) {
	for _, r := range rules {
		all = append(all, &analysis.Analyzer{
			Name:     r.name,
			Doc:      r.finds + "\n\n" + r.remedy,
			URL:      Docs + r.page,
			Requires: []*analysis.Analyzer{keys},
			Run: func(p *analysis.Pass) (any, error) {
				k := p.ResultOf[keys].(*keySet)
				k.mu.Lock() // drivers run the rules of a package at the same time
				defer k.mu.Unlock()
				r.run(&pass{p, k, r})
				return nil, nil
			},
		})
	}
	return all
}

// A rule is one way in which code breaks.
type rule struct {
	name   string
	finds  string // a sentence for the documentation
	remedy string // a sentence for the documentation and for each finding
	page   string // the section that explains it, below Docs
	run    func(*pass)
}

// rules are in the order of the faults that they found in real services.
var rules = []rule{
	insertRule, jsonRule, columnRule, boxedRule, textRule, narrowRule,
	entTypeRule, omitRule, unsignedRule, orderRule, literalRule, templateRule,
}

// A pass is one rule in one package.
type pass struct {
	*analysis.Pass
	keys *keySet
	rule rule
}

// report reports a finding, together with the rule's remedy.
func (p *pass) report(category string, at ast.Node, format string, args ...any) {
	p.reportRemedy(category, at, p.rule.remedy, nil, format, args...)
}

// reportRemedy reports a finding that has its own remedy, and perhaps edits.
func (p *pass) reportRemedy(category string, at ast.Node, remedy string, fixes []analysis.SuggestedFix, format string, args ...any) {
	p.Report(analysis.Diagnostic{
		Pos: at.Pos(), End: at.End(), Category: category,
		Message:        fmt.Sprintf(format, args...) + ". " + remedy,
		URL:            Docs + p.rule.page,
		SuggestedFixes: fixes,
	})
}

// replace is an edit.
func replace(at ast.Node, message, text string) []analysis.SuggestedFix {
	return []analysis.SuggestedFix{{Message: message, TextEdits: []analysis.TextEdit{{Pos: at.Pos(), End: at.End(), NewText: []byte(text)}}}}
}

// files are the files that people have written, without tests.
func (p *pass) files() (files []*ast.File) {
	for _, f := range p.Files {
		if !ast.IsGenerated(f) && !p.isTest(f.Pos()) {
			files = append(files, f)
		}
	}
	return files
}

func (p *pass) isTest(pos token.Pos) bool {
	return strings.HasSuffix(p.Fset.File(pos).Name(), "_test.go")
}

// each calls do for every node of a type in files.
func each[N ast.Node](files []*ast.File, do func(N)) {
	for _, f := range files {
		for n := range ast.Preorder(f) {
			if n, ok := n.(N); ok {
				do(n)
			}
		}
	}
}
