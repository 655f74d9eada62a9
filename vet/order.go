package vet

import (
	"go/ast"
	"regexp"
)

var orderRule = rule{
	name:   "order",
	finds:  "pages that follow the order of keys: `id < ?`, `ORDER BY id`",
	remedy: "Generated keys are above all counted ones, so pages stay in order; a client that read before the switch continues after it",
	page:   "leaving-auto-increment.md#the-code",
	run:    runOrder,
}

var (
	keyset  = regexp.MustCompile(`(?i)(^|[\s(."` + "`" + `])id["` + "`" + `]?\s*[<>]=?\s*(\?|\$\d|:\w|@\w|%)`)
	orderBy = regexp.MustCompile(`(?i)\bORDER\s+BY\s+([\w"` + "`" + `]+\.)?["` + "`" + `]?id\b`)
	ordered = regexp.MustCompile(`(?i)^\s*(\w+\.)?id(\s+(asc|desc))?\s*$`)
)

func runOrder(p *pass) {
	for _, file := range p.files() {
		ast.Inspect(file, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			text, ok := p.keys.text(e)
			if !ok {
				return true
			}
			if _, ident := e.(*ast.Ident); !ident && (keyset.MatchString(text) || orderBy.MatchString(text)) {
				p.report(Hint, e, "Rows are read in the order of their keys")
			}
			return false
		})
	}
	each(p.files(), func(call *ast.CallExpr) { // db.Order("id desc")
		s, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || len(call.Args) == 0 {
			return
		}
		switch s.Sel.Name {
		case "Order", "OrderBy", "Desc", "Asc", "OrderExpr":
			if text, ok := p.keys.text(call.Args[0]); ok && ordered.MatchString(text) {
				p.report(Hint, call.Args[0], "Rows are read in the order of their keys")
			}
		}
	})
}
