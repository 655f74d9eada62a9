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

// Accounts and articles are both rows and GraphQL objects.
type (
	account struct {
		id   pk.ID
		name string
	}
	article struct {
		id    pk.ID
		title string
	}
)

func (a *account) ID() NodeID    { return NodeID{a.id} }
func (a *account) Name() string  { return a.name }
func (a *article) ID() NodeID    { return NodeID{a.id} }
func (a *article) Title() string { return a.title }

// A node resolves to the object that it contains.
type node struct{ object interface{ ID() NodeID } }

func (n *node) ID() NodeID                  { return n.object.ID() }
func (n *node) ToAccount() (*account, bool) { a, ok := n.object.(*account); return a, ok }
func (n *node) ToArticle() (*article, bool) { a, ok := n.object.(*article); return a, ok }

// A noder's keys all come from one generator, so an id can only be in one of the
// tables.
type noder struct {
	accounts map[pk.ID]*account
	articles map[pk.ID]*article
}

func (n *noder) Node(args struct{ ID NodeID }) (*node, error) {
	if a, ok := n.accounts[args.ID.ID]; ok {
		return &node{a}, nil
	}
	if a, ok := n.articles[args.ID.ID]; ok {
		return &node{a}, nil
	}
	return nil, nil // GraphQL's null
}

// A Noder finds the object that belongs to an ID, regardless of its type.
func Example_noder() {
	server := graphql.MustParseSchema(`
		interface Node { id: ID! }
		type Account implements Node { id: ID! name: String! }
		type Article implements Node { id: ID! title: String! }
		type Query { node(id: ID!): Node }
	`, &noder{
		map[pk.ID]*account{low: {low, "Ada"}},
		map[pk.ID]*article{high: {high, "On keys"}},
	})
	for _, id := range []string{`"1234567890123456788"`, `"1234567890123456789"`, `"1234567890123456790"`, `"12x"`} {
		answer := server.Exec(context.Background(),
			`{ node(id: `+id+`) { id ... on Account { name } ... on Article { title } } }`, "", nil)
		if answer.Errors != nil {
			fmt.Println(answer.Errors[0].Message)
			continue
		}
		fmt.Println(string(answer.Data))
	}
	// Output:
	// {"node":{"id":"1234567890123456788","name":"Ada"}}
	// {"node":{"id":"1234567890123456789","title":"On keys"}}
	// {"node":null}
	// pk: pk.ID cannot hold "12x": want plain decimal such as "1234567890123456789": digits only, no leading zero
}
