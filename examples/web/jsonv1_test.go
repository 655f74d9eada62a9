//go:build !goexperiment.jsonv2 && !go1.27

package main

import (
	"encoding/json"
	"testing"
)

// TestJSONv1 covers the string option, which differs between the old and the new
// encoding/json.
func TestJSONv1(t *testing.T) {
	quoted := func(in target, wire string) error { return json.Unmarshal([]byte(wire), in.quoted) }
	checkTable(t, []edge{{name: "a string, the field tagged `json:\"id,string\"`", wire: jsonString, nothing: `{}`, read: quoted}})
}
