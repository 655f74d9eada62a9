package vet

import (
	"go/ast"
	"regexp"
)

var orderRule = rule{
	name:   "order",
	finds:  "pages that follow the order of keys: `id < ?`, `ORDER BY id`, or that combine `id < ?` with `ORDER BY created_at`",
	remedy: "Generated keys are above all counted ones, so pages stay in order; a client that read before the switch continues after it",
	page:   "leaving-auto-increment.md#the-code",
	run:    runOrder,
}

var (
	keyset  = regexp.MustCompile(`(?i)(^|[\s(."` + "`" + `])id["` + "`" + `]?\s*[<>]=?\s*(\?|\$\d|:\w|@\w|%)`)
	orderBy = regexp.MustCompile(`(?i)\bORDER\s+BY\s+([\w"` + "`" + `]+\.)?["` + "`" + `]?id\b`)
	ordered = regexp.MustCompile(`(?i)^\s*(\w+\.)?id(\s+(asc|desc))?\s*$`)
	byTime  = regexp.MustCompile(`(?i)\bORDER\s+BY\s+([\w"` + "`" + `]+\.)?["` + "`" + `]?(created|inserted|published)(_?at|_?on)?["` + "`" + `]?(\s+(asc|desc))?\s*(\b(LIMIT|FETCH|OFFSET)\b|[;)]|$)`)
)

func runOrder(p *pass) {
	texts(p.keys, p.files(), func(e ast.Expr, text string) {
		switch {
		case keyset.MatchString(text) && byTime.MatchString(text):
			p.reportRemedy(Hint, e, "Order by the key as well, since keys and times of several processes aren't in the same order", nil, "Pages are in the order of a time and continue after a key")
		case keyset.MatchString(text), orderBy.MatchString(text):
			p.report(Hint, e, "Rows are read in the order of their keys")
		}
	})
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
