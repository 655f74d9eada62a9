package vet

import (
	"go/ast"
	"go/types"
	"reflect"
	"strings"
)

var jsonRule = rule{
	name:  "jsonnumber",
	finds: "a key that leaves as a JSON number, which JavaScript rounds above 2^53",
	remedy: "Open the pool with the layout idgen.JSSafe, whose ids JavaScript reads exactly. " +
		"If clients can change, use a type of package pk, or the tag option string",
	page: "web.md#json",
	run:  runJSON,
}

func runJSON(p *pass) {
	if p.keys.config.Safe {
		return
	}
	p.eachField(func(of *types.TypeName, field *types.Var, at *ast.Ident, tag *ast.BasicLit) {
		if tag == nil || !isInteger(field.Type()) || isPK(element(field.Type())) || hasMethod(of.Type(), "MarshalJSON") {
			return
		}
		if isNumberInJSON(parseTag(tag)) && p.keys.isKeyField(of.Type(), field) {
			p.report(Breaks, at, "%s.%s holds a key and leaves as a JSON number", of.Name(), field.Name())
		}
	})
	reported := make(map[*types.Var]bool)
	each(p.files(), func(n *ast.CompositeLit) { p.jsonLiteral(n, reported) })
	p.eachStored(isJSONMap, p.jsonValue)
	p.eachCall(func(call *ast.CallExpr, fn *types.Func) { // json.NewEncoder(w).Encode(map[string]any{"id": user.ID})
		if !jsonWriters[fn.Name()] {
			return
		}
		for _, arg := range call.Args {
			if m, ok := ast.Unparen(arg).(*ast.CompositeLit); ok && !isJSONMap(p.TypesInfo.TypeOf(m)) && isAnyMap(p.TypesInfo.TypeOf(m)) {
				p.jsonMap(m)
			}
			p.jsonValue(arg)
		}
	})
}

// isNumberInJSON reports whether encoding/json writes an integer with this tag as a number.
func isNumberInJSON(tag reflect.StructTag) bool {
	options, ok := tag.Lookup("json")
	return ok && options != "-" && !strings.Contains(options, ",string")
}

// jsonWriters are functions and methods that write JSON, of encoding/json and of frameworks.
var jsonWriters = map[string]bool{
	"Marshal": true, "MarshalIndent": true, "Encode": true, "JSON": true, "IndentedJSON": true, "PureJSON": true, "WriteJSON": true, "SecureJSON": true,
}

func hasMethod(t types.Type, name string) bool {
	obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, nil, name)
	_, ok := obj.(*types.Func)
	return ok
}

// jsonLiteral checks struct literals of other packages, whose declaration isn't looked at
// here, and maps that are JSON.
func (p *pass) jsonLiteral(n *ast.CompositeLit, reported map[*types.Var]bool) {
	t := p.TypesInfo.TypeOf(n)
	if isJSONMap(t) {
		p.jsonMap(n)
		return
	}
	s, named := structOf(t)
	if s == nil || named == nil || named.Obj().Pkg() == p.Pkg || hasMethod(named, "MarshalJSON") || isForeign(named.Obj().Pkg(), p.Pkg) {
		return
	}
	for v, value := range members(p.TypesInfo, n) {
		if reported[v] || !isInteger(v.Type()) || isPK(v.Type()) || !p.keys.holds(value) {
			continue
		}
		if _, known := p.keys.columnOf(t, v); known || p.keys.ImportObjectFact(v, new(keyFact)) {
			continue // reported where it's declared
		}
		for i := range s.NumFields() {
			if s.Field(i) == v && isNumberInJSON(reflect.StructTag(s.Tag(i))) {
				reported[v] = true
				p.report(Breaks, value, "%s.%s holds a key and leaves as a JSON number", named.Obj().Name(), v.Name())
			}
		}
	}
}

// isForeign reports whether two packages are of different modules, as far as their paths tell.
func isForeign(a, b *types.Package) bool {
	tree := func(path string) string {
		parts := strings.SplitN(path, "/", 4)
		return strings.Join(parts[:min(3, len(parts))], "/")
	}
	return isStandard(a.Path()) && strings.Contains(b.Path(), ".") || strings.Contains(a.Path(), ".") && tree(a.Path()) != tree(b.Path())
}

func isAnyMap(t types.Type) bool {
	m, ok := typeOf[*types.Map](t)
	return ok && types.IsInterface(m.Elem()) && isText(m.Key())
}

// isJSONMap reports whether a type is one by which frameworks write JSON, such as gin.H.
func isJSONMap(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || !isAnyMap(t) {
		return false
	}
	switch named.Obj().Name() {
	case "H", "Map", "JSON", "JSONMap":
		return true
	}
	return false
}

func (p *pass) jsonMap(m *ast.CompositeLit) {
	for _, element := range m.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			p.jsonValue(pair.Value)
		}
	}
}

// jsonValue checks a value of JSON, whose type may write itself.
func (p *pass) jsonValue(e ast.Expr) {
	if t := p.TypesInfo.TypeOf(e); isInteger(t) && !isPK(element(t)) && p.keys.holds(e) {
		p.report(Breaks, e, "%s is a key and leaves as a JSON number", types.ExprString(e))
	}
}
