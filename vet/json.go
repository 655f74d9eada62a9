package vet

import (
	"go/ast"
	"go/types"
	"reflect"
	"strings"
)

func checkJSON(k *keySet, n ast.Node) {
	if k.config.Safe {
		return
	}
	switch n := n.(type) {
	case *ast.TypeSpec:
		k.eachField(n, func(of *types.TypeName, field *types.Var, at *ast.Ident, tag *ast.BasicLit) {
			if tag == nil || !isInteger(field.Type()) || isPK(element(field.Type())) || hasMethod(of.Type(), "MarshalJSON") {
				return
			}
			if isNumberInJSON(parseTag(tag)) && k.isKeyField(of.Type(), field) {
				k.report(Breaks, at, "%s.%s holds a key and leaves as a JSON number", of.Name(), field.Name())
			}
		})
	case *ast.CompositeLit:
		k.jsonLiteral(n)
	case *ast.AssignStmt:
		k.eachStored(n, isJSONMap, k.jsonValue)
	case *ast.CallExpr: // json.NewEncoder(w).Encode(map[string]any{"id": user.ID})
		if fn := k.callee(n); fn == nil || !jsonWriters[fn.Name()] {
			return
		}
		for _, arg := range n.Args {
			if m, ok := ast.Unparen(arg).(*ast.CompositeLit); ok && !isJSONMap(k.TypesInfo.TypeOf(m)) && isAnyMap(k.TypesInfo.TypeOf(m)) {
				k.jsonMap(m)
			}
			k.jsonValue(arg)
		}
	}
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
func (k *keySet) jsonLiteral(n *ast.CompositeLit) {
	t := k.TypesInfo.TypeOf(n)
	if isJSONMap(t) {
		k.jsonMap(n)
		return
	}
	s, named := structOf(t)
	if s == nil || named == nil || named.Obj().Pkg() == k.Pkg || hasMethod(named, "MarshalJSON") || isForeign(named.Obj().Pkg(), k.Pkg) {
		return
	}
	for v, value := range members(k.TypesInfo, n) {
		if k.reported[v] || !isInteger(v.Type()) || isPK(v.Type()) || !k.holds(value) {
			continue
		}
		if _, known := k.columnOf(t, v); known || k.ImportObjectFact(v, new(keyFact)) {
			continue // reported where it's declared
		}
		for i := range s.NumFields() {
			if s.Field(i) == v && isNumberInJSON(reflect.StructTag(s.Tag(i))) {
				k.reported[v] = true
				k.report(Breaks, value, "%s.%s holds a key and leaves as a JSON number", named.Obj().Name(), v.Name())
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

func (k *keySet) jsonMap(m *ast.CompositeLit) {
	for _, element := range m.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			k.jsonValue(pair.Value)
		}
	}
}

// jsonValue checks a value of JSON, whose type may write itself.
func (k *keySet) jsonValue(e ast.Expr) {
	if t := k.TypesInfo.TypeOf(e); isInteger(t) && !isPK(element(t)) && k.holds(e) {
		k.report(Breaks, e, "%s is a key and leaves as a JSON number", types.ExprString(e))
	}
}
