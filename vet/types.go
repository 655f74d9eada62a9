package vet

import (
	"go/ast"
	"go/types"
	"strings"
)

// The rules of this file are about the types of package pk.

func checkEntType(k *keySet, n ast.Node) {
	s, ok := n.(*ast.SwitchStmt)
	if !ok || s.Tag == nil || !isNamed(k.TypesInfo.TypeOf(s.Tag), "entgo.io/ent/schema/field", "Type") {
		return
	}
	for _, clause := range s.Body.List {
		values := clause.(*ast.CaseClause).List
		if values == nil {
			return
		}
		for _, value := range values {
			if s, ok := value.(*ast.SelectorExpr); ok && s.Sel.Name == "TypeOther" {
				return
			}
		}
	}
	k.report(Check, s.Tag, "The switch over %s has no case for keys", types.ExprString(s.Tag))
}

func checkOmit(k *keySet, n ast.Node) {
	field, ok := n.(*ast.Field)
	if !ok || field.Tag == nil || len(field.Names) == 0 {
		return
	}
	t := k.TypesInfo.TypeOf(field.Type)
	if isPK(t) && isInteger(t) && strings.Contains(parseTag(field.Tag).Get("json"), ",omitempty") {
		k.report(Check, field, "%s is left out of the JSON if it's 0", field.Names[0].Name)
	}
}

func checkUnsigned(k *keySet, n ast.Node) {
	call, ok := n.(*ast.CallExpr)
	if !ok || !k.TypesInfo.Types[call.Fun].IsType() || k.TypesInfo.Types[call].Value != nil || !isPK(k.TypesInfo.TypeOf(call)) {
		return
	}
	if from, ok := typeOf[*types.Basic](k.TypesInfo.TypeOf(call.Args[0])); ok && from.Kind() == types.Uint64 {
		k.report(Check, call, "%s may be above the largest key, and is negative then", types.ExprString(call.Args[0]))
	}
}
