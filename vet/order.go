package vet

import (
	"go/ast"
	"regexp"
)

var (
	orderCall = regexp.MustCompile(`^(Order|OrderBy|OrderExpr|Asc|Desc)$`)
	keyset    = regexp.MustCompile(`(?i)(^|[\s(."` + "`" + `])id["` + "`" + `]?\s*[<>]=?\s*(\?|\$\d|:\w|@\w|%)`)
	orderBy   = regexp.MustCompile(`(?i)\bORDER\s+BY\s+([\w"` + "`" + `]+\.)?["` + "`" + `]?id\b`)
	ordered   = regexp.MustCompile(`(?i)^\s*(\w+\.)?id(\s+(asc|desc))?\s*$`)
	byTime    = regexp.MustCompile(`(?i)\bORDER\s+BY\s+([\w"` + "`" + `]+\.)?["` + "`" + `]?(created|inserted|published)(_?at|_?on)?["` + "`" + `]?(\s+(asc|desc))?\s*(\b(LIMIT|FETCH|OFFSET)\b|[;)]|$)`)
)

func checkOrder(k *keySet, n ast.Node) {
	switch n := n.(type) {
	case *text:
		switch {
		case !n.written:
		case keyset.MatchString(n.value) && byTime.MatchString(n.value):
			k.reportRemedy(Hint, n, "Order by the key as well, since keys and times of several processes aren't in the same order", nil,
				"Pages are in the order of a time and continue after a key")
		case keyset.MatchString(n.value), orderBy.MatchString(n.value):
			k.report(Hint, n, "Rows are read in the order of their keys")
		}
	case *ast.CallExpr: // db.Order("id desc")
		if s, ok := n.Fun.(*ast.SelectorExpr); ok && len(n.Args) > 0 && orderCall.MatchString(s.Sel.Name) {
			if text, ok := k.text(n.Args[0]); ok && ordered.MatchString(text) {
				k.report(Hint, n.Args[0], "Rows are read in the order of their keys")
			}
		}
	}
}
