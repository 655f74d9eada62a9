package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/graph-gophers/graphql-go"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/snowkey-go/snowkey/schema/pk"
)

func TestGraphQL(t *testing.T) {
	quote := func(text string) string { return `"` + text + `"` }
	bare := func(text string) string { return text }
	checkTable(t, []edge{
		{name: "gqlparser, literal `user(id: \"7\")`", wire: quote, read: gqlgenLiteral},
		{name: "gqlparser, literal `user(id: 7)`", numbers: true, wire: bare, read: gqlgenLiteral},
		{name: "gqlparser, variable `{\"id\":\"7\"}`", wire: jsonString, nothing: `{}`, read: gqlgenVariable},
		{name: "gqlparser, variable `{\"id\":7}`", numbers: true, wire: jsonNumber, nothing: `{}`, read: gqlgenVariable},
	})
}

const (
	schema   = `type Query { user(id: ID!): String }`
	variable = `query ($id: ID!) { user(id: $id) }`
)

func literal(id string) string { return `{ user(id: ` + id + `) }` }

// Servers built with gqlgen use gqlparser to parse and check requests, and then pass
// the parsed arguments to UnmarshalGQL. They decode variables with UseNumber.
func gqlgenLiteral(in target, wire string) error { return gqlgen(in, literal(wire), nil) }

func gqlgenVariable(in target, wire string) error {
	var variables map[string]any
	decoder := json.NewDecoder(strings.NewReader(wire))
	decoder.UseNumber()
	if err := decoder.Decode(&variables); err != nil {
		return err
	}
	return gqlgen(in, variable, variables)
}

func gqlgen(in target, query string, variables map[string]any) (err error) {
	key, ok := in.id.(interface{ UnmarshalGQL(any) error })
	if !ok {
		return errNoWay
	}
	defer func() {
		// gqlparser panics if an integer is too large, which gqlgen's servers recover
		// from.
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	schema, err := gqlparser.LoadSchema(&ast.Source{Input: schema})
	if err != nil {
		return err
	}
	document, errs := gqlparser.LoadQueryWithRules(schema, query, rules.NewDefaultRules())
	if errs != nil {
		return errs
	}
	operation := document.Operations[0]
	variables, err = validator.VariableValues(schema, operation, variables)
	if err != nil {
		return err
	}
	arguments := operation.SelectionSet[0].(*ast.Field).ArgumentMap(variables)
	return key.UnmarshalGQL(arguments["id"]) // as gqlgen's generated code does
}

// A NodeID is a key that graph-gophers can use as an ID.
type NodeID struct{ pk.ID }

func (NodeID) ImplementsGraphQLType(name string) bool { return name == "ID" }
func (id *NodeID) UnmarshalGraphQL(v any) error       { return id.UnmarshalGQL(v) }

type resolver struct{}

// User returns the user's id instead of the user, to be short.
func (*resolver) User(args struct{ ID NodeID }) NodeID { return args.ID }

// This is a server of graph-gophers, whose clients write ids in quotes.
func Example_graphQL() {
	server := graphql.MustParseSchema("type Query { user(id: ID!): ID! }", new(resolver))
	for _, id := range []string{`"1234567890123456788"`, `"1234567890123456789"`, `"12x"`} {
		answer := server.Exec(context.Background(), "{ user(id: "+id+") }", "", nil)
		if answer.Errors != nil {
			fmt.Println(answer.Errors[0].Message)
			continue
		}
		fmt.Println(string(answer.Data))
	}
	// Output:
	// {"user":"1234567890123456788"}
	// {"user":"1234567890123456789"}
	// pk: pk.ID cannot hold "12x": want plain decimal such as "1234567890123456789": digits only, no leading zero
}
