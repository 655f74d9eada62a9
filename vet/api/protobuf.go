package api

import (
	"strings"

	"github.com/bufbuild/protocompile/ast"
	"github.com/bufbuild/protocompile/parser"
	"github.com/bufbuild/protocompile/reporter"
)

// narrowTypes are the scalar types that can't hold a key.
var narrowTypes = map[string]string{
	"int32": "32 bits", "uint32": "32 bits", "sint32": "32 bits", "fixed32": "32 bits", "sfixed32": "32 bits", "float": "24 bits", "double": "53 bits",
}

// checkProtobuf checks the fields of messages. JSON has int64 as a string, so that isn't reported.
func checkProtobuf(f *file) error {
	node, err := parser.Parse(f.name, strings.NewReader(f.text), reporter.NewHandler(nil))
	if err != nil {
		return err
	}
	check := func(name *ast.IdentNode, typeName string) {
		bits, narrow := narrowTypes[typeName]
		if !narrow || !isID(name.Val) || typeName == "double" && f.safe {
			return
		}
		start := node.NodeInfo(name).Start()
		f.report(start.Line, start.Col, "%s has the type %s, which holds integers of %s. Add an int64 or a string with a new number, because the type of a field must not change", name.Val, typeName, bits)
	}
	return ast.Walk(node, &ast.SimpleVisitor{
		DoVisitFieldNode: func(n *ast.FieldNode) error {
			check(n.Name, string(n.FldType.AsIdentifier()))
			return nil
		},
		DoVisitMapFieldNode: func(n *ast.MapFieldNode) error {
			check(n.Name, string(n.MapType.ValueType.AsIdentifier()))
			return nil
		},
	})
}
