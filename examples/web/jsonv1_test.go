//go:build !goexperiment.jsonv2 && !go1.27

package main

import (
	"encoding/json"
	"testing"
)

// The old and the new encoding/json differ in the string option.
func TestJSONv1(t *testing.T) {
	quoted := func(in target, wire string) error { return json.Unmarshal([]byte(wire), in.quoted) }
	checkTable(t, []edge{{name: "a string, the field tagged `json:\"id,string\"`", wire: jsonString, nothing: `{}`, read: quoted}})
}
