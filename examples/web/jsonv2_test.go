//go:build go1.27

package main

import (
	"encoding/json/v2"
	"testing"
)

func TestJSONv2(t *testing.T) {
	request := func(in target, wire string) error { return json.Unmarshal([]byte(wire), in.request) }
	quoted := func(in target, wire string) error { return json.Unmarshal([]byte(wire), in.quoted) }
	checkTable(t, []edge{
		{name: "a string: `{\"id\":\"7\"}`", wire: jsonString, nothing: `{}`, read: request},
		{name: "a string, the field tagged `json:\"id,string\"`", wire: jsonString, nothing: `{}`, read: quoted},
		{name: "a number: `{\"id\":7}`", numbers: true, wire: jsonNumber, nothing: `{}`, read: request},
	})
}
