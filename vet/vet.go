package vet

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/types"
	"iter"
	"reflect"
	"regexp"
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
func Analyzers(config Config) (all []*analysis.Analyzer) {
	keys := keysAnalyzer(config)
	for _, r := range rules {
		all = append(all, &analysis.Analyzer{
			Name:     r.name,
			Doc:      r.finds + "\n\n" + r.remedy,
			URL:      Docs + r.page,
			Requires: []*analysis.Analyzer{keys},
			Run: func(pass *analysis.Pass) (any, error) {
				for _, d := range pass.ResultOf[keys].(*keySet).faults()[r.name] {
					pass.Report(d)
				}
				return nil, nil
			},
		})
	}
	return all
}

// A rule is one way in which code breaks.
type rule struct {
	name   string
	page   string // the section that explains it, below Docs
	finds  string // a sentence for the documentation
	remedy string // a sentence for the documentation and for each finding
	check  func(*keySet, ast.Node)
}

// checks are called for each node of the files that people have written, for each test as an
// *ast.File only, and for each *text.
var checks = map[string]func(*keySet, ast.Node){
	"insert": checkInsert, "jsonnumber": checkJSON, "column": checkColumn, "boxed": checkBoxed, "keytext": checkText,
	"narrow": checkNarrow, "enttype": checkEntType, "omitempty": checkOmit, "unsigned": checkUnsigned, "order": checkOrder,
	"literal": checkLiteral, "template": checkTemplate,
}

// rules are those of RULES.md. They're in the order of the faults that they found in real services.
var rules = readRules()

//go:embed RULES.md
var rulesPage string

var ruleRow = regexp.MustCompile(`(?m)^\| \[(.*?)\]\(\.\./docs/(.*?)\) \| (.*?) \| (.*) \|$`)

func readRules() (all []rule) {
	for _, m := range ruleRow.FindAllStringSubmatch(rulesPage, -1) {
		all = append(all, rule{name: m[1], page: m[2], finds: m[3], remedy: m[4], check: checks[m[1]]})
	}
	return all
}

// check applies the rules, and returns what they find by their names.
func (k *keySet) check() map[string][]analysis.Diagnostic {
	for _, k.rule = range rules {
		for _, f := range k.Files {
			switch {
			case k.isTest(f):
				k.rule.check(k, f)
			case !ast.IsGenerated(f):
				for n := range ast.Preorder(f) {
					k.rule.check(k, n)
				}
			}
		}
		for _, t := range k.texts {
			if t.written || t.copied {
				k.rule.check(k, t)
			}
		}
	}
	return k.found
}

func (k *keySet) isTest(f *ast.File) bool {
	return strings.HasSuffix(k.Fset.File(f.Pos()).Name(), "_test.go")
}

// report reports a finding, together with the rule's remedy.
func (k *keySet) report(category string, at ast.Node, format string, args ...any) {
	k.reportRemedy(category, at, k.rule.remedy, nil, format, args...)
}

// reportRemedy reports a finding that has its own remedy, and perhaps edits.
func (k *keySet) reportRemedy(category string, at ast.Node, remedy string, fixes []analysis.SuggestedFix, format string, args ...any) {
	k.found[k.rule.name] = append(k.found[k.rule.name], analysis.Diagnostic{
		Pos: at.Pos(), End: at.End(), Category: category,
		Message:        fmt.Sprintf(format, args...) + ". " + remedy,
		URL:            Docs + k.rule.page,
		SuggestedFixes: fixes,
	})
}

// replace is an edit.
func replace(at ast.Node, message, text string) []analysis.SuggestedFix {
	return []analysis.SuggestedFix{{Message: message, TextEdits: []analysis.TextEdit{{Pos: at.Pos(), End: at.End(), NewText: []byte(text)}}}}
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

// eachField calls do for the fields of a type, if it's a struct. The tag is nil if there is none.
func (k *keySet) eachField(spec *ast.TypeSpec, do func(of *types.TypeName, field *types.Var, at *ast.Ident, tag *ast.BasicLit)) {
	body, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range body.Fields.List {
		for _, name := range field.Names {
			do(k.TypesInfo.Defs[spec.Name].(*types.TypeName), k.TypesInfo.Defs[name].(*types.Var), name, field.Tag)
		}
	}
}

func parseTag(tag *ast.BasicLit) reflect.StructTag {
	text, _ := strconv.Unquote(tag.Value) // it compiles
	return reflect.StructTag(text)
}

// eachStored calls do for the values that are stored in maps of some types: response["id"] = user.ID.
func (k *keySet) eachStored(n *ast.AssignStmt, in func(types.Type) bool, do func(ast.Expr)) {
	for lhs, rhs := range assignments(n) {
		if index, ok := lhs.(*ast.IndexExpr); ok && in(k.TypesInfo.TypeOf(index.X)) {
			do(rhs)
		}
	}
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
