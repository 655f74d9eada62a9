package main

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// TestOpenAPI checks that the schemas in docs/web.md accept every key, and reject what
// the types reject. We make an exception for numbers just outside of the range, because
// the pattern for them would be too long. Note that schemas of OpenAPI 3.1 are JSON
// Schema.
func TestOpenAPI(t *testing.T) {
	text := errtest.Must(os.ReadFile(page))(t)
	_, block, _ := strings.Cut(string(text), "```yaml\n")
	block, _, ok := strings.Cut(block, "```\n")
	if !ok {
		t.Fatalf("%s has no schema", page)
	}
	var document map[string]any
	errtest.NoError(t, yaml.Unmarshal([]byte(block), &document))
	compiler := jsonschema.NewCompiler()
	errtest.NoError(t, compiler.AddResource("web.json", document))
	for name, parse := range map[string]func(string) error{
		"ID":      func(s string) error { _, err := pk.Parse(s); return err },
		"ShortID": func(s string) error { _, err := pk.ParseSort(s); return err },
	} {
		schema := errtest.Must(compiler.Compile("web.json#/components/schemas/" + name))(t)
		var keys []string
		for _, n := range []int64{1, 9, 10, low, high, 9223372036854775807} {
			keys = append(keys, map[string]string{"ID": decimal(n), "ShortID": pk.SortText(n).String()}[name])
		}
		for _, example := range schema.Examples {
			keys = append(keys, example.(string))
		}
		if len(schema.Examples) == 0 {
			t.Errorf("%s has no example", name)
		}
		for _, key := range keys {
			if err := schema.Validate(key); err != nil || parse(key) != nil {
				t.Errorf("%s, %s: the schema says %v, the type %v", name, key, err, parse(key))
			}
		}
		for _, bad := range append(bads, bad{text: "0"}, bad{text: "10000000000000000000"}, bad{text: "128ggyhyyk08n"}, bad{text: "828GGYHYYK08N"}, bad{text: "128GGYHYYK08N "}) {
			if name == "ID" && bad.text == "9223372036854775808" {
				continue
			}
			if schema.Validate(bad.text) == nil {
				t.Errorf("%s takes %q", name, bad.text)
			}
		}
		err := schema.Validate(json.Number(decimal(high)))
		if _, ok := errors.AsType[*jsonschema.ValidationError](err); !ok {
			t.Errorf("%s says %v to a number of JSON", name, err)
		}
	}
}
