package vet

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"
)

// A keySet is what the analyzer of keys finds in a package: the models, and the variables
// that hold one of their keys.
//
// Variables are followed through assignments, comparisons, calls and conversions, in both
// directions: a number that is compared with user.ID is a key as well. A parameter that
// only some callers pass a key to is one inside of its function, but not for the other
// callers. This is what weak means.
type keySet struct {
	*analysis.Pass
	config     Config
	models     map[*types.Struct]*modelInfo
	names      map[string]bool            // of models, in lower case
	rows       map[*types.TypeName]bool   // types that a query is scanned into
	tableNames map[*types.TypeName]string // from methods TableName of this package
	counted    map[string]bool            // tables that number their rows
	levels     map[node]level
	edges      []edge
	texts      []*text

	rule     rule                                    // the one that runs
	found    map[string][]analysis.Diagnostic        // by the name of the rule
	faults   func() map[string][]analysis.Diagnostic // found, after all rules have run
	reported map[*types.Var]bool                     // fields of other packages that leave as JSON numbers
}

type level int8

const (
	weak   level = iota + 1 // a key if the caller's is one
	strong                  // a key for all callers
)

// A node is a value that is followed: a *types.Var, a result, an *ast.TypeAssertExpr, or nil
// for a key.
type node any

// A result is one of the results of a call.
type result struct {
	call  *ast.CallExpr
	index int
}

// An edge says that one value becomes another.
type edge struct {
	from, to node
	kind     edgeKind
}

type edgeKind int8

const (
	assigned edgeKind = iota
	passed            // from an argument to a parameter
	returned          // from a function's body to its result, and from there to a call
)

// A keyFact says that a field, a parameter or a result is a key.
type keyFact struct{}

func (*keyFact) AFact()         {}
func (*keyFact) String() string { return "key" }

// A namesFact has the names of a package's models, and the tables that it creates.
type namesFact struct{ Models, Tables []string }

func (*namesFact) AFact()         {}
func (*namesFact) String() string { return "models" }

func keysAnalyzer(config Config) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:       "snowkeys",
		Doc:        "find the variables that hold a key",
		URL:        Docs + "leaving-auto-increment.md#the-code",
		ResultType: reflect.TypeFor[*keySet](),
		FactTypes:  []analysis.Fact{new(keyFact), new(namesFact)},
		Run: func(pass *analysis.Pass) (any, error) {
			k := &keySet{
				Pass: pass, config: config,
				models: make(map[*types.Struct]*modelInfo), names: make(map[string]bool), rows: make(map[*types.TypeName]bool),
				tableNames: make(map[*types.TypeName]string), counted: make(map[string]bool), levels: make(map[node]level),
				found: make(map[string][]analysis.Diagnostic), reported: make(map[*types.Var]bool),
			}
			k.faults = sync.OnceValue(k.check) // drivers run the analyzers of a package at the same time
			if isStandard(pass.Pkg.Path()) {
				return k, nil
			}
			k.readNames()
			k.readFlow()
			k.spread()
			k.exportFacts()
			return k, nil
		},
	}
}

// isStandard reports whether a package is part of the standard library, which has no keys.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return slices.Contains(standard, first)
}

// standard has the first elements of the standard library's paths.
var standard = strings.Fields(`
	archive bufio bytes cmp compress container context crypto database debug embed encoding errors expvar flag
	fmt go hash html image index internal io iter log maps math mime net os path plugin reflect regexp runtime
	slices sort strconv strings structs sync syscall testing text time unicode unique unsafe vendor weak
`)

// readNames finds the statements of SQL, and the names of models and tables, in this package
// and in those that it imports.
func (k *keySet) readNames() {
	k.readTexts()
	for _, table := range k.config.Counted {
		k.counted[table] = true
	}
	for _, t := range k.texts {
		if t.sql {
			addCounted(k.counted, t.value)
		}
	}
	k.readTableNames()
	k.readScans()
	own := namesFact{Tables: slices.Collect(maps.Keys(k.counted))}
	for _, f := range k.AllPackageFacts() {
		if names, ok := f.Fact.(*namesFact); ok {
			for _, name := range names.Models {
				k.names[name] = true
			}
			for _, table := range names.Tables {
				k.counted[table] = true
			}
		}
	}
	for table := range k.counted {
		for _, name := range singulars(strings.ReplaceAll(table, "_", "")) {
			k.names[name] = true
		}
	}
	scope := k.Pkg.Scope()
	for _, name := range scope.Names() {
		if obj, ok := scope.Lookup(name).(*types.TypeName); ok {
			if s, named := structOf(obj.Type()); s != nil && k.readModel(s, named) != nil && !isBase(named) {
				own.Models = append(own.Models, strings.ToLower(name))
				k.names[strings.ToLower(name)] = true
			}
		}
	}
	clear(k.models) // they were read without all names
	if len(own.Models)+len(own.Tables) > 0 {
		k.ExportPackageFact(&own)
	}
}

// readTableNames finds methods such as func (User) TableName() string { return "members" }.
func (k *keySet) readTableNames() {
	each(k.Files, func(f *ast.FuncDecl) {
		if f.Recv == nil || f.Name.Name != "TableName" || f.Body == nil {
			return
		}
		_, named := structOf(k.TypesInfo.TypeOf(f.Recv.List[0].Type))
		each(f.Body.List, func(n *ast.ReturnStmt) {
			for _, e := range n.Results {
				if name, ok := k.text(e); ok && named != nil {
					k.tableNames[named.Obj()] = name
				}
			}
		})
	})
}

// readScans finds the types whose field ID is scanned from a row.
func (k *keySet) readScans() {
	each(k.Files, func(call *ast.CallExpr) {
		if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "Scan" {
			return
		}
		each(call.Args, func(field *ast.SelectorExpr) {
			if _, named := structOf(k.TypesInfo.TypeOf(field.X)); named != nil && (field.Sel.Name == "ID" || field.Sel.Name == "Id") {
				k.rows[named.Obj()] = true
			}
		})
	})
}

// text returns the value of a constant text.
func (k *keySet) text(e ast.Expr) (string, bool) {
	v := k.TypesInfo.Types[e].Value
	if v == nil || v.Kind() != constant.String {
		return "", false
	}
	return constant.StringVal(v), true
}

// column returns the column of a model that an expression such as user.ID stands for.
func (k *keySet) column(e ast.Expr) (column, bool) {
	selector, ok := ast.Unparen(e).(*ast.SelectorExpr)
	if !ok {
		return column{}, false
	}
	selection := k.TypesInfo.Selections[selector]
	if selection == nil || selection.Kind() != types.FieldVal {
		return column{}, false
	}
	return k.columnOf(selection.Recv(), selection.Obj().(*types.Var))
}

func (k *keySet) columnOf(t types.Type, field *types.Var) (column, bool) {
	m := k.modelOf(t)
	if m == nil {
		return column{}, false
	}
	c, ok := m.fields[field.Origin()]
	return c, ok
}

// refs returns what an expression is a copy of.
func (k *keySet) refs(e ast.Expr) []node {
	e = ast.Unparen(e)
	if t := k.TypesInfo.TypeOf(e); t != nil && isPK(element(t)) {
		return key
	}
	switch e := e.(type) {
	case *ast.Ident:
		if v, ok := k.TypesInfo.ObjectOf(e).(*types.Var); ok {
			return []node{v}
		}
	case *ast.SelectorExpr:
		if _, ok := k.column(e); ok {
			return key
		}
		if v, ok := k.TypesInfo.ObjectOf(e.Sel).(*types.Var); ok {
			return []node{v.Origin()}
		}
	case *ast.StarExpr:
		return k.refs(e.X)
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return k.refs(e.X)
		}
	case *ast.TypeAssertExpr:
		return []node{e}
	case *ast.SliceExpr:
		return k.refs(e.X)
	case *ast.IndexExpr:
		switch k.TypesInfo.TypeOf(e.X).Underlying().(type) {
		case *types.Slice, *types.Array, *types.Pointer:
			return k.refs(e.X)
		}
	case *ast.CompositeLit:
		if _, ok := typeOf[*types.Slice](k.TypesInfo.TypeOf(e)); ok {
			return k.refsOfAll(e.Elts)
		}
	case *ast.CallExpr:
		return k.refsOfCall(e, 0)
	}
	return nil
}

func (k *keySet) refsOfAll(list []ast.Expr) (all []node) {
	for _, e := range list {
		all = append(all, k.refs(e)...)
	}
	return all
}

// copies are functions whose result is their argument in another form. The decimal text of a
// number is a copy of it.
var copies = map[string]int{
	"strconv.FormatInt": 0, "strconv.FormatUint": 0, "strconv.Itoa": 0, "strconv.Atoi": 0, "strconv.ParseInt": 0, "strconv.ParseUint": 0,
	"fmt.Sprint": 0, "fmt.Sprintf": 1, "strings.TrimSpace": 0, "slices.Clone": 0, "strconv.ParseFloat": 0,
}

var oneVerb = regexp.MustCompile(`^%0?\d*[dvsxX]$`)

func (k *keySet) refsOfCall(call *ast.CallExpr, index int) []node {
	if k.TypesInfo.Types[call.Fun].IsType() { // a conversion
		return k.refs(call.Args[0])
	}
	if b, ok := typeutil.Callee(k.TypesInfo, call).(*types.Builtin); ok && b.Name() == "append" {
		return k.refsOfAll(call.Args)
	}
	if _, _, ok := k.source(call, index); !ok {
		return nil
	}
	return []node{result{call, index}}
}

// source returns what a result of a call is made from. It's false if the result isn't followed.
func (k *keySet) source(call *ast.CallExpr, index int) (from []node, kind edgeKind, ok bool) {
	fn := k.callee(call)
	if fn == nil {
		return nil, 0, false
	}
	if fn.Name() == "LastInsertId" && index == 0 {
		return key, assigned, true
	}
	if i, ok := copies[fn.FullName()]; ok {
		if index > 0 || len(call.Args) <= i {
			return nil, 0, false
		}
		format, _ := k.text(call.Args[0])
		return k.refs(call.Args[i]), assigned, i == 0 || oneVerb.MatchString(format)
	}
	sig := fn.Signature()
	if sig.Recv() != nil && len(call.Args) == 0 { // id.String(), id.Int64()
		if f, ok := call.Fun.(*ast.SelectorExpr); ok && isPK(element(sig.Recv().Type())) && index == 0 {
			return k.refs(f.X), assigned, true
		}
	}
	if isStandard(pathOf(fn)) || index >= sig.Results().Len() {
		return nil, 0, false
	}
	return []node{sig.Results().At(index)}, returned, true
}

func (k *keySet) callee(call *ast.CallExpr) *types.Func {
	fn, ok := typeutil.Callee(k.TypesInfo, call).(*types.Func)
	if !ok {
		return nil
	}
	return fn.Origin()
}

// pathOf returns the path of the package of an object, or "" for what is built in.
func pathOf(obj types.Object) string {
	if obj.Pkg() == nil {
		return ""
	}
	return obj.Pkg().Path()
}

// holds reports whether an expression is a key, or becomes one.
func (k *keySet) holds(e ast.Expr) bool { return slices.ContainsFunc(k.refs(e), k.isKey) }

// isKeyField reports whether a field of a struct is a key.
func (k *keySet) isKeyField(t types.Type, field *types.Var) bool {
	return slices.ContainsFunc(k.field(t, field), k.isKey)
}

// isKey reports whether a value is one.
func (k *keySet) isKey(n node) bool { return k.level(n) > 0 }

// copied says that each of the values becomes each of the others.
func (k *keySet) copied(from []node, kind edgeKind, to []node) {
	for _, f := range from {
		for _, t := range to {
			if f != t && isFollowed(f) && isFollowed(t) {
				k.edges = append(k.edges, edge{f, t, kind})
			}
		}
	}
}

// isFollowed reports whether a value may be a key. The fields of the standard library, such as
// that of sql.NullInt64, hold values of any kind.
func isFollowed(n node) bool {
	v, ok := n.(*types.Var)
	return !ok || canHold(v.Type()) && !(v.IsField() && isStandard(pathOf(v)))
}

// flow says that an expression becomes the values.
func (k *keySet) flow(from ast.Expr, kind edgeKind, to []node) { k.copied(k.refs(from), kind, to) }

// spread raises levels until nothing changes.
func (k *keySet) spread() {
	for changed := true; changed; {
		changed = false
		raise := func(n node, l level) {
			if k.level(n) < l {
				k.levels[n], changed = l, true
			}
		}
		for _, e := range k.edges {
			from, to := k.level(e.from), k.level(e.to)
			back := to
			switch e.kind {
			case assigned:
				if from > 0 && isShared(e.to, k.Pkg) {
					from = strong
				}
			case passed:
				from = min(from, weak)
				if to == weak {
					back = 0 // only another caller's argument is a key
				}
			case returned:
				if from == weak {
					from = 0 // only another caller's result is a key
				}
				back = min(back, weak)
			}
			if back == weak && isShared(e.from, k.Pkg) {
				back = 0
			}
			raise(e.to, from)
			raise(e.from, back)
		}
	}
}

// isShared reports whether a value is a variable with readers outside of its function.
func isShared(n node, pkg *types.Package) bool {
	v, ok := n.(*types.Var)
	return ok && (v.IsField() || v.Parent() == pkg.Scope())
}

// exportFacts passes what is known about variables to importing packages.
func (k *keySet) exportFacts() {
	for n, l := range k.levels {
		if v, ok := n.(*types.Var); ok && l == strong && v.Pkg() == k.Pkg && v.Kind() != types.LocalVar {
			k.ExportObjectFact(v, new(keyFact))
		}
	}
}

// level returns what is known about a value, here or in a variable's own package.
func (k *keySet) level(n node) level {
	if n == nil {
		return strong
	}
	v, ok := n.(*types.Var)
	if ok && k.levels[v] == 0 && v.Pkg() != k.Pkg && k.ImportObjectFact(v, new(keyFact)) {
		k.levels[v] = strong
	}
	return k.levels[n]
}
