package vet

import (
	"go/ast"
	"go/types"
)

var entTypeRule = rule{
	name:   "enttype",
	finds:  "a switch over the types of ent's fields that has no case for `field.TypeOther`",
	remedy: "Keys of package pk have the type field.TypeOther: add a case, or a default",
	page:   "ent.md#extensions-of-ent",
	run:    runEntType,
}

func runEntType(p *pass) {
	each(p.files(), func(n *ast.SwitchStmt) {
		if n.Tag == nil || !isNamed(p.TypesInfo.TypeOf(n.Tag), "entgo.io/ent/schema/field", "Type") {
			return
		}
		for _, clause := range n.Body.List {
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
		p.report(Check, n.Tag, "The switch over %s has no case for keys", types.ExprString(n.Tag))
	})
}
