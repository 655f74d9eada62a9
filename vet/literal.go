package vet

import (
	"go/ast"
	"go/constant"
)

var literalRule = rule{
	name:   "literal",
	finds:  "tests that expect the keys 1, 2, 3 (one finding for each file, with their number)",
	remedy: "Give the tests an idgentest.Counter as their source, which counts from 1 for each model",
	page:   "gorm.md#a-service-that-has-rows-already",
	run:    runLiteral,
}

func runLiteral(p *pass) {
	for _, file := range p.Files {
		if !p.isTest(file.Pos()) {
			continue
		}
		var first ast.Node
		n := 0
		count := func(e ast.Expr, isKey bool) {
			if v := p.TypesInfo.Types[e].Value; isKey && v != nil && v.Kind() == constant.Int && constant.Sign(v) > 0 {
				if n++; first == nil {
					first = e
				}
			}
		}
		for node := range ast.Preorder(file) {
			switch node := node.(type) {
			case *ast.BinaryExpr:
				if isComparison(node.Op) {
					count(node.Y, p.keys.holds(node.X))
					count(node.X, p.keys.holds(node.Y))
				}
			case *ast.CompositeLit:
				for _, element := range node.Elts {
					if field, value := fieldOf(p.TypesInfo, element); field != nil {
						count(value, p.keys.isKeyField(p.TypesInfo.TypeOf(node), field))
					}
				}
			case *ast.CallExpr:
				if fn := p.keys.callee(node); fn != nil {
					for i, arg := range node.Args {
						if params := fn.Signature().Params(); params.Len() > 0 {
							count(arg, p.keys.levels[params.At(min(i, params.Len()-1))] == strong)
						}
					}
				}
			}
		}
		if n > 0 {
			p.report(Hint, first, "This test file has %d literal keys", n)
		}
	}
}
