package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/schema/pk"
)

// The two ways to write a key in JSON are as a string and as a number.
func jsonString(text string) string { return `{"id":"` + text + `"}` }
func jsonNumber(text string) string { return `{"id":` + text + `}` }

func TestJSON(t *testing.T) {
	request := func(in target, wire string) error { return json.Unmarshal([]byte(wire), in.request) }
	checkTable(t, []edge{
		{name: "a string: `{\"id\":\"7\"}`", wire: jsonString, nothing: `{}`, read: request},
		{name: "a number: `{\"id\":7}`", numbers: true, wire: jsonNumber, nothing: `{}`, read: request},
		{name: "a number, into `any`", numbers: true, wire: jsonNumber, nothing: `{}`, read: jsonAny},
	})
}

// jsonAny decodes without a struct, which is what JavaScript does.
func jsonAny(in target, wire string) error {
	id, ok := in.id.(*int64)
	if !ok {
		return errNoWay
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(wire), &m); err != nil {
		return err
	}
	n, ok := m["id"].(float64)
	if !ok {
		return fmt.Errorf("the id is a %T", m["id"])
	}
	*id = int64(n)
	return nil
}

// This is the JSON for a JavaScript client, with fields that a request may omit.
func Example_json() {
	type Account struct {
		ID     pk.ID  `json:"id"`
		Plain  int64  `json:"plain"` // a JavaScript client reads 1234567890123456800
		Parent *pk.ID `json:"parent"`
	}
	out, _ := json.Marshal(Account{ID: high, Plain: high})
	fmt.Println(string(out))

	// A pointer is nil if the field is missing or null. Zero is not a valid id.
	var in Account
	fmt.Println(json.Unmarshal([]byte(`{"id":null}`), &in), in.ID.IsZero(), in.Parent == nil)
	// Output:
	// {"id":"1234567890123456789","plain":1234567890123456789,"parent":null}
	// <nil> true true
}

// If you decode without a struct, you need UseNumber to keep the digits of a number.
func Example_useNumber() {
	var m map[string]any
	decoder := json.NewDecoder(strings.NewReader(`{"id":1234567890123456789}`))
	decoder.UseNumber()
	if err := decoder.Decode(&m); err != nil {
		fmt.Println(err)
	}
	if n, ok := m["id"].(json.Number); ok {
		fmt.Println(pk.Parse(n.String()))
	}
	// Output: 1234567890123456789 <nil>
}
