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
	each(p.files(), func(a *ast.TypeAssertExpr) {
		_, hasOK := p.TypesInfo.TypeOf(a).(*types.Tuple)
		if a.Type == nil || hasOK || !p.keys.holds(a) {
			return
		}
		if t := p.TypesInfo.TypeOf(a.Type); isNumber(t) {
			p.reportRemedy(Check, a, "Write id, ok := …, and treat values of the old type too", nil, "The assertion to %s panics if the key was stored with another type", types.TypeString(t, types.RelativeTo(p.Pkg)))
		}
	})
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
