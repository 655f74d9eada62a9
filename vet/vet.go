package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"iter"
	"reflect"
	"strconv"
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
		if !ast.IsGenerated(f) && !isTest(p.Pass, f.Pos()) {
			files = append(files, f)
		}
	}
	return files
}

func isTest(p *analysis.Pass, pos token.Pos) bool {
	return strings.HasSuffix(p.Fset.File(pos).Name(), "_test.go")
}

// assignments yields what an assignment assigns to, and the values, unless one value has several
// results.
func assignments(n *ast.AssignStmt) iter.Seq2[ast.Expr, ast.Expr] {
	return func(yield func(ast.Expr, ast.Expr) bool) {
		for i, lhs := range n.Lhs {
			if len(n.Lhs) == len(n.Rhs) && !yield(lhs, n.Rhs[i]) {
				return
			}
		}
	}
}

// arguments yields the arguments of a call with their parameters.
func arguments(call *ast.CallExpr, sig *types.Signature) iter.Seq2[ast.Expr, *types.Var] {
	return func(yield func(ast.Expr, *types.Var) bool) {
		for i, arg := range call.Args {
			if n := sig.Params().Len(); n > 0 && !yield(arg, sig.Params().At(min(i, n-1))) {
				return
			}
		}
	}
}

// members yields the fields that a literal of a struct sets, and their values.
func members(info *types.Info, n *ast.CompositeLit) iter.Seq2[*types.Var, ast.Expr] {
	return func(yield func(*types.Var, ast.Expr) bool) {
		t := info.TypeOf(n)
		if pointer, ok := typeOf[*types.Pointer](t); ok { // an element of []*T without its type
			t = pointer.Elem()
		}
		s, ok := typeOf[*types.Struct](t)
		for i := 0; ok && i < len(n.Elts); i++ {
			var field *types.Var
			value := n.Elts[i]
			if pair, keyed := value.(*ast.KeyValueExpr); keyed {
				field, value = info.ObjectOf(pair.Key.(*ast.Ident)).(*types.Var), pair.Value
			} else {
				field = s.Field(i)
			}
			ok = yield(field, value)
		}
	}
}

// eachField calls do for the fields of the named structs that files declare. The tag is nil if
// there is none.
func (p *pass) eachField(do func(of *types.TypeName, field *types.Var, at *ast.Ident, tag *ast.BasicLit)) {
	each(p.files(), func(spec *ast.TypeSpec) {
		body, ok := spec.Type.(*ast.StructType)
		if !ok {
			return
		}
		of := p.TypesInfo.Defs[spec.Name].(*types.TypeName)
		for _, field := range body.Fields.List {
			for _, name := range field.Names {
				do(of, p.TypesInfo.Defs[name].(*types.Var), name, field.Tag)
			}
		}
	})
}

func parseTag(tag *ast.BasicLit) reflect.StructTag {
	text, _ := strconv.Unquote(tag.Value) // it compiles
	return reflect.StructTag(text)
}

// eachStored calls do for the values that are stored in maps of some types.
func (p *pass) eachStored(in func(types.Type) bool, do func(ast.Expr)) {
	each(p.files(), func(n *ast.AssignStmt) { // response["id"] = user.ID
		for lhs, rhs := range assignments(n) {
			if index, ok := lhs.(*ast.IndexExpr); ok && in(p.TypesInfo.TypeOf(index.X)) {
				do(rhs)
			}
		}
	})
}

// eachCall calls do for the calls of functions and methods that have a name.
func (p *pass) eachCall(do func(call *ast.CallExpr, fn *types.Func)) {
	each(p.files(), func(call *ast.CallExpr) {
		if fn := p.keys.callee(call); fn != nil {
			do(call, fn)
		}
	})
}

// each calls do for every node of a type in other nodes.
func each[N, Root ast.Node](roots []Root, do func(N)) {
	for _, root := range roots {
		for n := range ast.Preorder(root) {
			if n, ok := n.(N); ok {
				do(n)
			}
		}
	}
}
