package api

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// checkOpenAPI checks parameters and properties. It doesn't need a model of OpenAPI for
// that, and so reads all versions. References are followed within the file.
func checkOpenAPI(f *file) error {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(f.text), &document); err != nil {
		if f.alone {
			return fmt.Errorf("not YAML: %w", err)
		}
		return nil
	}
	if len(document.Content) == 0 || member(document.Content[0], "openapi") == nil && member(document.Content[0], "swagger") == nil {
		if f.alone {
			return errors.New("neither a member openapi nor swagger, so it's not a description of an API")
		}
		return nil
	}
	o := &openAPIFile{f, document.Content[0]}
	o.walk(o.root)
	return nil
}

type openAPIFile struct {
	*file
	root *yaml.Node
}

func (o *openAPIFile) walk(n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		if properties := member(n, "properties"); properties != nil && properties.Kind == yaml.MappingNode {
			for i := 0; i+1 < len(properties.Content); i += 2 {
				o.schema(properties.Content[i].Value, properties.Content[i], properties.Content[i+1])
			}
		}
		if name := member(n, "name"); name != nil && member(n, "in") != nil { // a parameter
			schema := member(n, "schema")
			if schema == nil {
				schema = n // Swagger 2
			}
			o.schema(name.Value, name, schema)
		}
	}
	for _, child := range n.Content {
		o.walk(child)
	}
}

func (o *openAPIFile) schema(name string, at, schema *yaml.Node) {
	if !isID(name) {
		return
	}
	schema = o.resolve(schema)
	if items := member(schema, "items"); items != nil {
		schema = o.resolve(items)
	}
	format := ""
	if n := member(schema, "format"); n != nil {
		format = n.Value
	}
	t := typeOf(schema)
	switch {
	case t == "integer" && format == "int32":
		o.report(at.Line, at.Column, "%s is an int32, which can't hold a key. Make it a string, or an int64 with ids of the layout JSSafe", name)
	case t == "integer" && format == "":
		o.report(at.Line, at.Column, "%s is an integer without a format, which generators take for 32 bits. Make it a string, or an int64 with ids of the layout JSSafe", name)
	case (t == "integer" || t == "number") && !o.safe:
		o.report(at.Line, at.Column, "%s is a number. "+number, name)
	}
}

// resolve follows a reference such as #/components/schemas/ID.
func (o *openAPIFile) resolve(n *yaml.Node) *yaml.Node {
	for range 10 { // a reference may refer to itself
		ref := member(n, "$ref")
		if ref == nil || !strings.HasPrefix(ref.Value, "#/") {
			break
		}
		target := o.root
		for part := range strings.SplitSeq(ref.Value[2:], "/") {
			target = member(target, part)
		}
		n = target
	}
	return n
}

// typeOf returns the type of a schema; in OpenAPI 3.1 it may be a list such as [integer, "null"].
func typeOf(schema *yaml.Node) string {
	t := member(schema, "type")
	if t == nil {
		return ""
	}
	for _, one := range t.Content {
		if one.Value != "null" {
			return one.Value
		}
	}
	return t.Value
}

func member(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}
