package vet

import (
	"go/ast"
	"go/types"
	"regexp"
)

var (
	storeNames   = regexp.MustCompile(`^(Set|SetWithTTL|SetEx|Put|Save|Store|Add|Push|Enqueue|Publish|SetDefault)$`)
	storePackage = regexp.MustCompile(`(?i)session|cache|redis|memcache|queue|job|asynq|scs|cookie`)
)

func checkBoxed(k *keySet, n ast.Node) {
	switch n := n.(type) {
	case *ast.CallExpr:
		fn := k.callee(n)
		switch {
		case fn == nil:
		case fn.FullName() == "(*encoding/gob.Encoder).Encode":
			k.encoded(n.Args[0])
		case storeNames.MatchString(fn.Name()) && storePackage.MatchString(fn.FullName()):
			for arg, param := range arguments(n, fn.Signature()) {
				if types.IsInterface(element(param.Type())) {
					k.boxed(arg)
				}
			}
		}
	case *ast.AssignStmt:
		k.eachStored(n, isStoreMap, k.boxed)
	case *ast.TypeAssertExpr:
		_, hasOK := k.TypesInfo.TypeOf(n).(*types.Tuple)
		if n.Type != nil && !hasOK && k.holds(n) && isNumber(k.TypesInfo.TypeOf(n.Type)) {
			k.reportRemedy(Check, n, "Write id, ok := …, and treat values of the old type too", nil,
				"The assertion to %s panics if the key was stored with another type", k.typeName(k.TypesInfo.TypeOf(n.Type)))
		}
	}
}

func (k *keySet) typeName(t types.Type) string { return types.TypeString(t, types.RelativeTo(k.Pkg)) }

// isStoreMap reports whether a type is a map such as Values of gorilla/sessions.
func isStoreMap(t types.Type) bool {
	m, ok := typeOf[*types.Map](t)
	return ok && types.IsInterface(m.Key()) && types.IsInterface(m.Elem())
}

func (k *keySet) boxed(e ast.Expr) {
	if t := k.TypesInfo.TypeOf(e); !types.IsInterface(t) && isNumber(t) && k.holds(e) {
		k.report(Check, e, "%s is a key and is stored with its type, %s", types.ExprString(e), k.typeName(t))
	}
}

// encoded checks a key or a row that gob writes.
func (k *keySet) encoded(e ast.Expr) {
	k.boxed(e)
	if k.modelOf(k.TypesInfo.TypeOf(e)) != nil {
		k.report(Check, e, "%s is stored with its key, whose type gob keeps", types.ExprString(e))
	}
}
