package api

import (
	"errors"
	"fmt"
	"slices"
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
	if root := membersOf(&document); root.OpenAPI.IsZero() && root.Swagger.IsZero() {
		if f.alone {
			return errors.New("neither a member openapi nor swagger, so it's not a description of an API")
		}
		return nil
	}
	o := &openAPIFile{f, &document}
	o.walk(o.root)
	return nil
}

type openAPIFile struct {
	*file
	root *yaml.Node
}

// members are those of a mapping that matter. They are nodes because a property may have the same
// name, and any value.
type members struct {
	OpenAPI, Swagger, Name, In, Schema, Properties, Type, Format, Items yaml.Node

	Ref yaml.Node `yaml:"$ref"`
}

// membersOf returns the members of a node, which has none if it's not a mapping.
func membersOf(n *yaml.Node) (m members) {
	_ = n.Decode(&m)
	return m
}

func (o *openAPIFile) walk(n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		m := membersOf(n)
		if m.Properties.Kind == yaml.MappingNode {
			for pair := range slices.Chunk(m.Properties.Content, 2) {
				o.schema(pair[0].Value, pair[0], pair[1])
			}
		}
		if !m.Name.IsZero() && !m.In.IsZero() { // a parameter
			schema := &m.Schema
			if schema.IsZero() {
				schema = n // Swagger 2
			}
			o.schema(m.Name.Value, &m.Name, schema)
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
	m := o.resolve(schema)
	if !m.Items.IsZero() {
		m = o.resolve(&m.Items)
	}
	switch t := typeOf(m); {
	case t == "integer" && m.Format.Value == "int32":
		o.report(at.Line, at.Column, "%s is an int32, which can't hold a key. Make it a string, or an int64 with ids of the layout JSSafe", name)
	case t == "integer" && m.Format.Value == "":
		o.report(at.Line, at.Column, "%s is an integer without a format, which generators take for 32 bits. Make it a string, or an int64 with ids of the layout JSSafe", name)
	case (t == "integer" || t == "number") && !o.safe:
		o.report(at.Line, at.Column, "%s is a number. "+number, name)
	}
}

// resolve returns the members of a schema, or of what it refers to, as #/components/schemas/ID.
func (o *openAPIFile) resolve(n *yaml.Node) members {
	m := membersOf(n)
	for range 10 { // a reference may refer to itself
		path, ok := strings.CutPrefix(m.Ref.Value, "#/")
		if !ok {
			break
		}
		target := *o.root
		for part := range strings.SplitSeq(path, "/") {
			var parts map[string]yaml.Node
			_ = target.Decode(&parts)
			target = parts[part]
		}
		m = membersOf(&target)
	}
	return m
}

// typeOf returns the type of a schema; in OpenAPI 3.1 it may be a list such as [integer, "null"].
func typeOf(m members) string {
	for _, one := range m.Type.Content {
		if one.Value != "null" {
			return one.Value
		}
	}
	return m.Type.Value
}
