package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
)

// key is what an expression is a copy of if it's a key for another reason.
var key = []node{nil}

// readFlow reads which values become which others.
func (k *keySet) readFlow() {
	for _, file := range k.Files {
		ent := ast.IsGenerated(file) && isGeneratedBy(file, "ent")
		ast.PreorderStack(file, nil, func(n ast.Node, stack []ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if fn, ok := k.TypesInfo.Defs[n].(*types.Func); ok {
					k.readParams(fn, ent)
				}
			case *ast.FuncLit:
				k.readNamedParams(k.TypesInfo.TypeOf(n).(*types.Signature), "")
			case *ast.AssignStmt:
				if n.Tok == token.ASSIGN || n.Tok == token.DEFINE {
					for i, from := range k.values(n.Rhs, len(n.Lhs)) {
						k.copied(from, assigned, k.refs(n.Lhs[i]))
					}
				}
			case *ast.ValueSpec:
				for i, from := range k.values(n.Values, len(n.Names)) {
					k.copied(from, assigned, k.refs(n.Names[i]))
				}
			case *ast.BinaryExpr:
				if isComparison(n.Op) {
					k.flow(n.X, assigned, k.refs(n.Y))
					k.flow(n.Y, assigned, k.refs(n.X))
				}
			case *ast.RangeStmt:
				k.readRange(n)
			case *ast.CompositeLit:
				for field, value := range members(k.TypesInfo, n) {
					k.flow(value, assigned, k.field(k.TypesInfo.TypeOf(n), field))
				}
			case *ast.IndexExpr:
				if _, ok := typeOf[*types.Map](k.TypesInfo.TypeOf(n.X)); ok {
					k.flow(n.Index, assigned, k.refs(n.X))
				}
			case *ast.TypeAssertExpr:
				k.flow(n.X, assigned, []node{n})
			case *ast.CallExpr:
				k.readCall(n)
			case *ast.ReturnStmt:
				results := k.signatureAround(stack).Results()
				for i, from := range k.values(n.Results, results.Len()) {
					k.copied(from, returned, []node{results.At(i)})
				}
			}
			return true
		})
	}
}

// signatureAround returns the signature of the innermost function.
func (k *keySet) signatureAround(stack []ast.Node) *types.Signature {
	for _, n := range slices.Backward(stack) {
		switch f := n.(type) {
		case *ast.FuncLit:
			return k.TypesInfo.TypeOf(f).(*types.Signature)
		case *ast.FuncDecl:
			return k.TypesInfo.TypeOf(f.Name).(*types.Signature)
		}
	}
	return nil
}

func isComparison(op token.Token) bool { return op.Precedence() == token.EQL.Precedence() }

// values returns what the values on the right of n variables are copies of.
func (k *keySet) values(list []ast.Expr, n int) (all [][]node) {
	for _, e := range list { // one for v, ok := x.(T)
		all = append(all, k.refs(e))
	}
	if len(list) == 1 {
		call, ok := ast.Unparen(list[0]).(*ast.CallExpr)
		for i := 1; ok && i < n; i++ {
			all = append(all, k.refsOfCall(call, i))
		}
	}
	return all
}

func (k *keySet) readRange(n *ast.RangeStmt) {
	to := n.Value
	switch k.TypesInfo.TypeOf(n.X).Underlying().(type) {
	case *types.Map:
		to = n.Key
	case *types.Basic: // the characters of a text
		return
	}
	if to != nil {
		k.flow(n.X, assigned, k.refs(to))
	}
}

// field returns what a field of a struct is.
func (k *keySet) field(t types.Type, field *types.Var) []node {
	if _, ok := k.columnOf(t, field); ok {
		return key
	}
	return []node{field.Origin()}
}

func (k *keySet) readCall(call *ast.CallExpr) {
	k.readArguments(call)
	sig, ok := typeOf[*types.Signature](k.TypesInfo.TypeOf(call.Fun))
	if !ok {
		return
	}
	for i := range sig.Results().Len() {
		if from, kind, ok := k.source(call, i); ok {
			k.copied(from, kind, []node{result{call, i}})
		}
	}
	if fn := k.callee(call); fn != nil {
		if isStandard(pathOf(fn)) {
			return
		}
		sig = fn.Signature()
	}
	for arg, param := range arguments(call, sig) {
		k.flow(arg, passed, []node{param})
		inner, ok1 := typeOf[*types.Signature](param.Type())
		outer, ok2 := typeOf[*types.Signature](k.TypesInfo.TypeOf(arg))
		if ok1 && ok2 { // a callback
			for j := range min(inner.Params().Len(), outer.Params().Len()) {
				k.copied([]node{inner.Params().At(j)}, assigned, []node{outer.Params().At(j)})
			}
		}
	}
}

// typeOf returns what a type consists of, if it is of this kind. It may be nil, as that of _ is.
func typeOf[T types.Type](t types.Type) (u T, ok bool) {
	if t != nil {
		u, ok = t.Underlying().(T)
	}
	return u, ok
}

// gormFinders take a key after the model.
var gormFinders = regexp.MustCompile(`^\(\*gorm\.io/gorm\.DB\)\.(First|Take|Last|Find|Delete)$`)

// readArguments finds arguments that are keys because of the call: those of a condition such as
// "id = ?", and the condition of GORM's First.
func (k *keySet) readArguments(call *ast.CallExpr) {
	if fn := k.callee(call); fn != nil && gormFinders.MatchString(fn.FullName()) && len(call.Args) == 2 {
		if isInteger(k.TypesInfo.TypeOf(call.Args[1])) {
			k.flow(call.Args[1], assigned, key)
		}
	}
	k.eachArgument(call, placeholders, func(_, column string, arg ast.Expr) {
		if k.isKeyName(column) {
			k.flow(arg, assigned, key)
		}
	})
}

// entName is the name of a function of ent's client whose parameters are keys.
var entName = regexp.MustCompile(`ID(s|EQ|NEQ|In|NotIn|GT|GTE|LT|LTE)?$`)

// readParams finds the parameters of a function or a method that are keys, according to their names
// or to what ent generates.
func (k *keySet) readParams(fn *types.Func, ent bool) {
	words := fn.Name()
	if recv := fn.Signature().Recv(); recv != nil {
		words += types.TypeString(recv.Type(), func(*types.Package) string { return "" })
	}
	k.readNamedParams(fn.Signature(), words)
	for p := range fn.Signature().Params().Variables() {
		if ent && isInteger(p.Type()) && (p.Name() == "id" || p.Name() == "ids" || entName.MatchString(fn.Name())) {
			k.levels[p] = strong
		}
	}
}

// readNamedParams finds the parameters that have the name of a key: userID if there is a model
// User, and id if the function is about a model.
func (k *keySet) readNamedParams(sig *types.Signature, words string) {
	mentioned := k.mentions(sig.Params()) || k.mentions(sig.Results())
	for name := range k.names {
		mentioned = mentioned || words != "" && strings.Contains(strings.ToLower(words), name)
	}
	for p := range sig.Params().Variables() {
		stem, ok := cutID(p.Name())
		if !ok && p.Name() == "" && sig.Params().Len() == 1 && k.mentions(sig.Results()) { // ForgeGet(int64) (*Forge, error)
			_, list := typeOf[*types.Slice](sig.Results().At(0).Type())
			ok = !list
		}
		if !ok || !isInteger(p.Type()) {
			continue
		}
		if stem == "" && mentioned || stem != "" && k.isModelName(stem) {
			k.levels[p] = strong
		}
	}
}

// mentions reports whether one of the types is a model.
func (k *keySet) mentions(t *types.Tuple) bool {
	return slices.ContainsFunc(slices.Collect(t.Variables()), func(v *types.Var) bool { return k.modelOf(v.Type()) != nil })
}
