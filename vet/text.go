package vet

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
)

var textRule = rule{
	name:   "keytext",
	finds:  "text of a key that is measured, cut or padded, or that GORM takes for a condition",
	remedy: "Keys have up to 19 digits, and the first digits are the same for all of a day: use the whole text",
	page:   "web.md#which-form",
	run:    runText,
}

var padded = regexp.MustCompile(`%0?\d+[dsv]`)

func runText(p *pass) {
	each(p.files(), func(n *ast.BinaryExpr) { // len(id) == 16
		if !isComparison(n.Op) {
			return
		}
		for _, pair := range [][2]ast.Expr{{n.X, n.Y}, {n.Y, n.X}} {
			call, ok := ast.Unparen(pair[0]).(*ast.CallExpr)
			if ok && types.ExprString(call.Fun) == "len" && p.isKeyText(call.Args[0]) && p.isLength(pair[1], n.Op) {
				p.report(Check, n, "The length of %s, the text of a key, is compared with a number", types.ExprString(call.Args[0]))
			}
		}
	})
	each(p.files(), func(n *ast.SliceExpr) {
		if p.isKeyText(n.X) {
			p.report(Check, n, "%s, the text of a key, is cut", types.ExprString(n.X))
		}
	})
	p.eachCall(func(call *ast.CallExpr, fn *types.Func) {
		if pathOf(fn) == "fmt" && len(call.Args) > 1 {
			p.format(call)
		}
		if isMethodOf(fn, "gorm.io/gorm", "DB") && gormFinders[fn.Name()] && len(call.Args) == 2 {
			if _, constant := p.keys.text(call.Args[1]); isText(p.TypesInfo.TypeOf(call.Args[1])) && !constant {
				p.reportRemedy(Breaks, call, `Write "id = ?" and the key`, nil, "GORM takes the text %s for SQL unless it's a decimal number", types.ExprString(call.Args[1]))
			}
		}
	})
}

func isText(t types.Type) bool {
	basic, ok := typeOf[*types.Basic](t)
	return ok && basic.Info()&types.IsString != 0
}

func (p *pass) isKeyText(e ast.Expr) bool {
	return isText(p.TypesInfo.TypeOf(e)) && p.keys.holds(e)
}

// isLength reports whether a constant is a length rather than a test for an empty text, or a
// limit that all keys keep.
func (p *pass) isLength(e ast.Expr, op token.Token) bool {
	v := p.TypesInfo.Types[e].Value
	if v == nil || v.Kind() != constant.Int {
		return false
	}
	n, _ := constant.Int64Val(v)
	return n > 1 && (n < 19 || op == token.EQL || op == token.NEQ)
}

func (p *pass) format(call *ast.CallExpr) {
	for i, arg := range call.Args {
		text, ok := p.keys.text(arg)
		if !ok {
			continue
		}
		for j, verb := range verbs.FindAllString(text, -1) {
			if k := i + 1 + j; k < len(call.Args) && padded.MatchString(verb) && p.keys.holds(call.Args[k]) && isInteger(p.TypesInfo.TypeOf(call.Args[k])) {
				p.report(Check, call, "%s is a key and is padded with %s", types.ExprString(call.Args[k]), verb)
			}
		}
		return
	}
}

var verbs = regexp.MustCompile(`%[-+# 0]*\d*(\.\d+)?[a-zA-Z]`)
