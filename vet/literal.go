package vet

import (
	"go/ast"
	"go/constant"
	"go/token"
)

func checkLiteral(k *keySet, n ast.Node) {
	file, ok := n.(*ast.File)
	if !ok {
		return
	}
	test := k.isTest(file)
	var first ast.Node
	many := 0
	count := func(e ast.Expr, isKey bool) {
		switch v := k.TypesInfo.Types[e].Value; {
		case !isKey || v == nil || v.Kind() != constant.Int || constant.Sign(v) <= 0:
		case !test:
			k.reportRemedy(Check, e, "Insert the row with this key, or find it by another column", nil, "The key %s is expected, which a generated key isn't", v)
		default:
			if many++; first == nil {
				first = e
			}
		}
	}
	for n := range ast.Preorder(file) {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ || test && isComparison(n.Op) {
				count(n.Y, k.holds(n.X))
				count(n.X, k.holds(n.Y))
			}
		case *ast.AssignStmt:
			for lhs, rhs := range assignments(n) {
				own, column := k.column(lhs) // a row may be inserted with a key of its own
				count(rhs, n.Tok == token.ASSIGN && !test && k.holds(lhs) && (own.child || !column))
			}
		case *ast.CompositeLit:
			for field, value := range members(k.TypesInfo, n) {
				count(value, test && k.isKeyField(k.TypesInfo.TypeOf(n), field))
			}
		case *ast.CallExpr:
			if fn := k.callee(n); fn != nil {
				for arg, param := range arguments(n, fn.Signature()) {
					count(arg, k.level(param) == strong)
				}
			}
		}
	}
	if many > 0 {
		k.report(Hint, first, "This test file has %d literal keys", many)
	}
}
