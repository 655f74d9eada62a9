package vet

import (
	"go/ast"
	"go/types"
)

var unsignedRule = rule{
	name:   "unsigned",
	finds:  "a `uint64` that is converted to a key: above 2^63 it's negative",
	remedy: "Compare it with math.MaxInt64 first, or parse it with pk.Parse",
	page:   "leaving-auto-increment.md#the-code",
	run:    runUnsigned,
}

func runUnsigned(p *pass) {
	each(p.files(), func(call *ast.CallExpr) {
		if !p.TypesInfo.Types[call.Fun].IsType() || p.TypesInfo.Types[call].Value != nil || !isPK(p.TypesInfo.TypeOf(call)) {
			return
		}
		from, ok := typeOf[*types.Basic](p.TypesInfo.TypeOf(call.Args[0]))
		if ok && from.Kind() == types.Uint64 {
			p.report(Check, call, "%s may be above the largest key, and is negative then", types.ExprString(call.Args[0]))
		}
	})
}
