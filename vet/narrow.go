package vet

import (
	"go/ast"
	"go/constant"
	"go/types"
)

// widths has the number of bits of the integers that each type holds exactly, and 0 for those
// that depend on the platform.
var widths = map[types.BasicKind]int{
	types.Int8: 8, types.Uint8: 8, types.Int16: 16, types.Uint16: 16, types.Int32: 32, types.Uint32: 32,
	types.Float32: 24, types.Float64: 53, types.Int: 0, types.Uint: 0,
}

func checkNarrow(k *keySet, n ast.Node) {
	switch n := n.(type) {
	case *ast.CallExpr:
		switch {
		case k.TypesInfo.Types[n.Fun].IsType():
			k.conversion(n)
		case k.isStrconv(n):
			k.parse(n, k.callee(n).Name())
		}
	case *ast.TypeAssertExpr: // uint(claims["id"].(float64))
		if n.Type != nil && isFloat64(k.TypesInfo.TypeOf(n.Type)) && k.holds(n) {
			k.jsonNumber(n)
		}
	case *ast.AssignStmt: // id, _ := strconv.ParseInt(text, 10, 64)
		if len(n.Lhs) == 2 && isBlank(n.Lhs[1]) && k.isStrconv(n.Rhs[0]) && k.holds(n.Lhs[0]) {
			k.reportRemedy(Check, n, "Return the error", nil, "%s is 0 or the largest number if the text isn't a key", types.ExprString(n.Lhs[0]))
		}
	case *ast.CaseClause: // switch v := v.(type) { case float64: return uint(v)
		if v, ok := k.TypesInfo.Implicits[n].(*types.Var); ok && isFloat64(v.Type()) && k.isKey(v) {
			k.jsonNumber(n.List[0])
		}
	}
}

// isStrconv reports whether an expression is a call of package strconv.
func (k *keySet) isStrconv(e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	fn := k.callee(call)
	return fn != nil && pathOf(fn) == "strconv"
}

func (k *keySet) conversion(call *ast.CallExpr) {
	to, ok := typeOf[*types.Basic](k.TypesInfo.TypeOf(call))
	from := k.TypesInfo.TypeOf(call.Args[0])
	if !ok || from == nil || !isInteger(from) || k.TypesInfo.Types[call].Value != nil || !k.holds(call.Args[0]) {
		return
	}
	width, narrow := widths[to.Kind()]
	if source, ok := typeOf[*types.Basic](from); ok {
		before, narrowed := widths[source.Kind()]
		if narrowed && (before == width || before > 0 && (width == 0 || before < width)) {
			return // the key has been narrowed before
		}
	}
	if narrow {
		k.narrowed(call, types.ExprString(call.Args[0]), to.Name(), width)
	}
}

// narrowed reports that a key becomes a type that holds integers of width bits.
func (k *keySet) narrowed(at ast.Node, what, to string, width int) {
	switch {
	case width == 0:
		k.report(Hint, at, "%s is a key, and %s has 32 bits on 32-bit platforms", what, to)
	case width == 53 && k.config.Safe:
	case width == 53:
		k.report(Breaks, at, "%s is a key, and %s rounds numbers above 2^53", what, to)
	default:
		k.report(Breaks, at, "%s is a key, and %s has %d bits for it", what, to, width)
	}
}

// parse checks a call of strconv whose text is a key, or whose result becomes one.
func (k *keySet) parse(call *ast.CallExpr, name string) {
	if !k.holds(call) {
		return
	}
	text := types.ExprString(call.Args[0])
	switch name {
	case "Atoi":
		k.narrowed(call, text, "int", 0)
	case "ParseFloat":
		k.narrowed(call, text, "float64", 53)
	case "ParseInt", "ParseUint":
		size := k.TypesInfo.Types[call.Args[2]].Value
		if size == nil {
			return
		}
		bits, _ := constant.Int64Val(size)
		if _, literal := call.Args[2].(*ast.BasicLit); !literal || bits == 0 {
			k.narrowed(call, text, "an integer of "+types.ExprString(call.Args[2]), 0)
		} else if bits < 64 {
			k.reportRemedy(Breaks, call, k.rule.remedy, replace(call.Args[2], "Parse 64 bits", "64"), "%s is a key, and numbers above %d bits are refused", text, bits)
		}
	}
}

// jsonNumber reports a number of encoding/json that becomes a key.
func (k *keySet) jsonNumber(at ast.Node) {
	if k.config.Safe {
		return
	}
	k.reportRemedy(Breaks, at, "Decode into a struct, or use UseNumber of json.Decoder", nil, "A key in a map of encoding/json is a float64, which rounds numbers above 2^53")
}

func isFloat64(t types.Type) bool {
	basic, ok := typeOf[*types.Basic](t)
	return ok && basic.Kind() == types.Float64
}
