package vet

import (
	"go/ast"
	"go/constant"
	"go/types"
)

var narrowRule = rule{
	name:   "narrow",
	finds:  "a key that is converted to a type that can't hold it: `int32`, `float64`; on 32-bit platforms `int` and `uint`; a key that is 0 if its text is wrong",
	remedy: "Keep 64 bits: int64, or a type of package pk",
	page:   "leaving-auto-increment.md#the-code",
	run:    runNarrow,
}

// widths has the number of bits of the integers that each type holds exactly, and 0 for those
// that depend on the platform.
var widths = map[types.BasicKind]int{
	types.Int8: 8, types.Uint8: 8, types.Int16: 16, types.Uint16: 16, types.Int32: 32, types.Uint32: 32,
	types.Float32: 24, types.Float64: 53, types.Int: 0, types.Uint: 0,
}

func runNarrow(p *pass) {
	each(p.files(), func(call *ast.CallExpr) {
		if p.TypesInfo.Types[call.Fun].IsType() {
			p.conversion(call)
		}
	})
	each(p.files(), func(a *ast.TypeAssertExpr) { // uint(claims["id"].(float64))
		if a.Type != nil && isFloat64(p.TypesInfo.TypeOf(a.Type)) && p.keys.holds(a) {
			p.jsonNumber(a)
		}
	})
	p.eachCall(func(call *ast.CallExpr, fn *types.Func) {
		if pathOf(fn) == "strconv" {
			p.parse(call, fn.Name())
		}
	})
	each(p.files(), func(n *ast.AssignStmt) { // id, _ := strconv.ParseInt(text, 10, 64)
		if call, ok := ast.Unparen(n.Rhs[0]).(*ast.CallExpr); ok && len(n.Lhs) == 2 && isBlank(n.Lhs[1]) && p.keys.holds(n.Lhs[0]) {
			if fn := p.keys.callee(call); fn != nil && pathOf(fn) == "strconv" {
				p.reportRemedy(Check, n, "Return the error", nil, "%s is 0 or the largest number if the text isn't a key", types.ExprString(n.Lhs[0]))
			}
		}
	})
	each(p.files(), func(n *ast.CaseClause) { // switch v := v.(type) { case float64: return uint(v)
		if v, ok := p.TypesInfo.Implicits[n].(*types.Var); ok && isFloat64(v.Type()) && p.keys.isKey(v) {
			p.jsonNumber(n.List[0])
		}
	})
}

func (p *pass) conversion(call *ast.CallExpr) {
	to, ok := typeOf[*types.Basic](p.TypesInfo.TypeOf(call))
	from := p.TypesInfo.TypeOf(call.Args[0])
	if !ok || from == nil || !isInteger(from) || p.TypesInfo.Types[call].Value != nil || !p.keys.holds(call.Args[0]) {
		return
	}
	width, narrow := widths[to.Kind()]
	if source, ok := typeOf[*types.Basic](from); ok {
		before, narrowed := widths[source.Kind()]
		if narrowed && (before == width || before > 0 && (width == 0 || before < width)) {
			return // the key has been narrowed before
		}
	}
	p.narrowed(call, types.ExprString(call.Args[0]), to.Name(), width, narrow)
}

func (p *pass) narrowed(at ast.Node, what, to string, width int, narrow bool) {
	switch {
	case !narrow:
	case width == 0:
		p.report(Hint, at, "%s is a key, and %s has 32 bits on 32-bit platforms", what, to)
	case width == 53 && p.keys.config.Safe:
	case width == 53:
		p.report(Breaks, at, "%s is a key, and %s rounds numbers above 2^53", what, to)
	default:
		p.report(Breaks, at, "%s is a key, and %s has %d bits for it", what, to, width)
	}
}

// parse checks a call of strconv whose text is a key, or whose result becomes one.
func (p *pass) parse(call *ast.CallExpr, name string) {
	if !p.keys.holds(call) {
		return
	}
	text := types.ExprString(call.Args[0])
	switch {
	case name == "Atoi":
		p.narrowed(call, text, "int", 0, true)
	case name == "ParseFloat":
		p.narrowed(call, text, "float64", 53, true)
	case name == "ParseInt", name == "ParseUint":
		size := p.TypesInfo.Types[call.Args[2]].Value
		if size == nil {
			return
		}
		bits, _ := constant.Int64Val(size)
		_, literal := call.Args[2].(*ast.BasicLit)
		switch {
		case !literal || bits == 0:
			p.narrowed(call, text, "an integer of "+types.ExprString(call.Args[2]), 0, true)
		case bits < 64:
			p.reportRemedy(Breaks, call, p.rule.remedy, replace(call.Args[2], "Parse 64 bits", "64"), "%s is a key, and numbers above %d bits are refused", text, bits)
		}
	}
}

// jsonNumber reports a number of encoding/json that becomes a key.
func (p *pass) jsonNumber(at ast.Node) {
	if p.keys.config.Safe {
		return
	}
	p.reportRemedy(Breaks, at, "Decode into a struct, or use UseNumber of json.Decoder", nil, "A key in a map of encoding/json is a float64, which rounds numbers above 2^53")
}

func isFloat64(t types.Type) bool {
	basic, ok := typeOf[*types.Basic](t)
	return ok && basic.Kind() == types.Float64
}
