//go:build !goexperiment.jsonv2

package web

import (
	"encoding/json"
	"testing"
)

// The string option is where the old package and its new self differ.
func TestJSONv1(t *testing.T) {
	quoted := func(in target, wire string) error { return json.Unmarshal([]byte(wire), in.quoted) }
	checkTable(t, []edge{{name: "a string, the field tagged `json:\"id,string\"`", wire: jsonString, nothing: `{}`, read: quoted}})
}
