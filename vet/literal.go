package vet

import (
	"go/ast"
	"go/constant"
	"go/token"
)

var literalRule = rule{
	name:   "literal",
	finds:  "code that expects the key 1, and tests that expect 1, 2, 3 (one finding for each file, with their number)",
	remedy: "Give the tests an idgentest.Counter as their source, which counts from 1 for each model",
	page:   "gorm.md#a-service-that-has-rows-already",
	run:    runLiteral,
}

func runLiteral(p *pass) {
	for _, file := range p.Files {
		test := isTest(p.Pass, file.Pos())
		if !test && ast.IsGenerated(file) {
			continue
		}
		var first ast.Node
		n := 0
		count := func(e ast.Expr, isKey bool) {
			switch v := p.TypesInfo.Types[e].Value; {
			case !isKey || v == nil || v.Kind() != constant.Int || constant.Sign(v) <= 0:
			case !test:
				p.reportRemedy(Check, e, "Insert the row with this key, or find it by another column", nil, "The key %s is expected, which a generated key isn't", v)
			default:
				if n++; first == nil {
					first = e
				}
			}
		}
		for node := range ast.Preorder(file) {
			switch node := node.(type) {
			case *ast.BinaryExpr:
				if node.Op == token.EQL || node.Op == token.NEQ || test && isComparison(node.Op) {
					count(node.Y, p.keys.holds(node.X))
					count(node.X, p.keys.holds(node.Y))
				}
			case *ast.AssignStmt:
				for lhs, rhs := range assignments(node) {
					own, column := p.keys.column(lhs) // a row may be inserted with a key of its own
					count(rhs, node.Tok == token.ASSIGN && !test && p.keys.holds(lhs) && (own.child || !column))
				}
			case *ast.CompositeLit:
				for field, value := range members(p.TypesInfo, node) {
					count(value, test && p.keys.isKeyField(p.TypesInfo.TypeOf(node), field))
				}
			case *ast.CallExpr:
				if fn := p.keys.callee(node); fn != nil {
					for arg, param := range arguments(node, fn.Signature()) {
						count(arg, p.keys.level(param) == strong)
					}
				}
			}
		}
		if n > 0 {
			p.report(Hint, first, "This test file has %d literal keys", n)
		}
	}
}
