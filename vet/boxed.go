package vet

import (
	"go/ast"
	"go/types"
	"regexp"
)

var boxedRule = rule{
	name:   "boxed",
	finds:  "a key that is stored as `any` in a session, a cache or a job, whose type must not change, and an assertion on one without `, ok`",
	remedy: "Keep the type that is stored, and convert where you read and write",
	page:   "web.md#sessions-cookies-caches-and-jobs",
	run:    runBoxed,
}

var (
	storeNames   = regexp.MustCompile(`^(Set|SetWithTTL|SetEx|Put|Save|Store|Add|Push|Enqueue|Publish|SetDefault)$`)
	storePackage = regexp.MustCompile(`(?i)session|cache|redis|memcache|queue|job|asynq|scs|cookie`)
)

func runBoxed(p *pass) {
	p.eachCall(func(call *ast.CallExpr, fn *types.Func) {
		if fn.FullName() == "(*encoding/gob.Encoder).Encode" {
			p.encoded(call.Args[0])
			return
		}
		if !storeNames.MatchString(fn.Name()) || !storePackage.MatchString(fn.FullName()) {
			return
		}
		for arg, param := range arguments(call, fn.Signature()) {
			if types.IsInterface(element(param.Type())) {
				p.boxed(arg)
			}
		}
	})
	p.eachStored(isStoreMap, p.boxed)
	for _, file := range p.files() {
		ast.PreorderStack(file, nil, func(n ast.Node, stack []ast.Node) bool {
			if a, ok := n.(*ast.TypeAssertExpr); ok && a.Type != nil && !hasOK(stack) {
				t := p.TypesInfo.TypeOf(a.Type)
				if isNumber(t) && (p.keys.parsed[a] || p.assertsKey(stack)) {
					p.reportRemedy(Check, a, "Write id, ok := …, and treat values of the old type too", nil, "The assertion to %s panics if the key was stored with another type", types.TypeString(t, types.RelativeTo(p.Pkg)))
				}
			}
			return true
		})
	}
}

// isStoreMap reports whether a type is a map such as Values of gorilla/sessions.
func isStoreMap(t types.Type) bool {
	m, ok := typeOf[*types.Map](t)
	return ok && types.IsInterface(m.Key()) && types.IsInterface(m.Elem())
}

func (p *pass) boxed(e ast.Expr) {
	if t := p.TypesInfo.TypeOf(e); !types.IsInterface(t) && isNumber(t) && p.keys.holds(e) {
		p.report(Check, e, "%s is a key and is stored with its type, %s", types.ExprString(e), types.TypeString(t, types.RelativeTo(p.Pkg)))
	}
}

// encoded checks a key or a row that gob writes.
func (p *pass) encoded(e ast.Expr) {
	p.boxed(e)
	if p.keys.modelOf(p.TypesInfo.TypeOf(e)) != nil {
		p.report(Check, e, "%s is stored with its key, whose type gob keeps", types.ExprString(e))
	}
}

// hasOK reports whether the node below the stack is an assertion with two results.
func hasOK(stack []ast.Node) bool {
	for i := len(stack) - 1; i >= 0; i-- {
		switch n := stack[i].(type) {
		case *ast.ParenExpr:
			continue
		case *ast.AssignStmt:
			return len(n.Lhs) == 2 && len(n.Rhs) == 1
		case *ast.ValueSpec:
			return len(n.Names) == 2 && len(n.Values) == 1
		}
		return false
	}
	return false
}

// assertsKey reports whether the assertion below the stack is assigned to a key.
func (p *pass) assertsKey(stack []ast.Node) bool {
	if assign, ok := stack[len(stack)-1].(*ast.AssignStmt); ok && len(assign.Lhs) == 1 {
		return p.keys.holds(assign.Lhs[0])
	}
	return false
}
