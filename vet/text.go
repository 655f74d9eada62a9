package vet

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
)

var padded = regexp.MustCompile(`%0?\d+[dsv]`)

func checkText(k *keySet, n ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryExpr: // len(id) == 16
		if !isComparison(n.Op) {
			return
		}
		for _, pair := range [][2]ast.Expr{{n.X, n.Y}, {n.Y, n.X}} {
			call, ok := ast.Unparen(pair[0]).(*ast.CallExpr)
			if ok && types.ExprString(call.Fun) == "len" && k.isKeyText(call.Args[0]) && k.isLength(pair[1], n.Op) {
				k.report(Check, n, "The length of %s, the text of a key, is compared with a number", types.ExprString(call.Args[0]))
			}
		}
	case *ast.SliceExpr:
		if k.isKeyText(n.X) {
			k.report(Check, n, "%s, the text of a key, is cut", types.ExprString(n.X))
		}
	case *ast.CallExpr:
		fn := k.callee(n)
		switch {
		case fn == nil || len(n.Args) < 2:
		case pathOf(fn) == "fmt":
			k.format(n)
		case gormFinders.MatchString(fn.FullName()) && len(n.Args) == 2:
			if _, constant := k.text(n.Args[1]); isText(k.TypesInfo.TypeOf(n.Args[1])) && !constant {
				k.reportRemedy(Breaks, n, `Write "id = ?" and the key`, nil, "GORM takes the text %s for SQL unless it's a decimal number", types.ExprString(n.Args[1]))
			}
		}
	}
}

func isText(t types.Type) bool {
	basic, ok := typeOf[*types.Basic](t)
	return ok && basic.Info()&types.IsString != 0
}

func (k *keySet) isKeyText(e ast.Expr) bool {
	return isText(k.TypesInfo.TypeOf(e)) && k.holds(e)
}

// isLength reports whether a constant is a length rather than a test for an empty text, or a
// limit that all keys keep.
func (k *keySet) isLength(e ast.Expr, op token.Token) bool {
	v := k.TypesInfo.Types[e].Value
	if v == nil || v.Kind() != constant.Int {
		return false
	}
	n, _ := constant.Int64Val(v)
	return n > 1 && (n < 19 || op == token.EQL || op == token.NEQ)
}

func (k *keySet) format(call *ast.CallExpr) {
	for i, arg := range call.Args {
		text, ok := k.text(arg)
		if !ok {
			continue
		}
		for j, verb := range verbs.FindAllString(text, -1) {
			if at := i + 1 + j; at < len(call.Args) && padded.MatchString(verb) && k.holds(call.Args[at]) && isInteger(k.TypesInfo.TypeOf(call.Args[at])) {
				k.report(Check, call, "%s is a key and is padded with %s", types.ExprString(call.Args[at]), verb)
			}
		}
		return
	}
}

var verbs = regexp.MustCompile(`%[-+# 0]*\d*(\.\d+)?[a-zA-Z]`)
