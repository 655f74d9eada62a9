package api

import (
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

// checkGraphQL checks fields and arguments of a schema, or the variables of operations.
func checkGraphQL(f *file) error {
	source := &ast.Source{Name: f.name, Input: f.text}
	schema, err := parser.ParseSchema(source)
	if err != nil {
		operations, err2 := parser.ParseQuery(source)
		if err2 != nil {
			return err
		}
		for _, operation := range operations.Operations {
			for _, v := range operation.VariableDefinitions {
				f.graphQL(v.Variable, v.Type, v.Position)
			}
		}
		return nil
	}
	for _, definitions := range []ast.DefinitionList{schema.Definitions, schema.Extensions} {
		for _, definition := range definitions {
			for _, field := range definition.Fields {
				f.graphQL(field.Name, field.Type, field.Position)
				for _, argument := range field.Arguments {
					f.graphQL(argument.Name, argument.Type, argument.Position)
				}
			}
		}
	}
	return nil
}

func (f *file) graphQL(name string, t *ast.Type, at *ast.Position) {
	switch {
	case !isID(name):
	case t.Name() == "Int":
		f.report(at.Line, at.Column, "%s is an Int, which has 32 bits. Make it an ID", name)
	case t.Name() == "Float" && !f.safe:
		f.report(at.Line, at.Column, "%s is a Float. Make it an ID: %s", name, number)
	}
}
