//go:build ignore

package main

import (
	"log"
	"slices"

	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"
	"entgo.io/ent/entc/load"

	"github.com/snowkey-go/snowkey/ent/entid/entidgen"
)

// Reading the schema takes as long as writing a client, so both are generated from one
// reading.
func main() {
	spec, err := (&load.Config{Path: "./schema"}).Load()
	if err != nil {
		log.Fatal(err)
	}
	generate(spec.Schemas, gen.Config{Target: ".", Package: "github.com/snowkey-go/snowkey/test/entid/internal/ent"})

	with := []string{"User", "Post", "Tag", "Tagging", "Like", "Card", "Event"}
	schemas := slices.DeleteFunc(spec.Schemas, func(s *load.Schema) bool { return !slices.Contains(with, s.Name) })
	generate(schemas, gen.Config{Target: "../bulk", Package: "github.com/snowkey-go/snowkey/test/entid/internal/bulk"}, entc.Extensions(entidgen.Extension{}))
}

func generate(schemas []*load.Schema, c gen.Config, options ...entc.Option) {
	c.Schema = "github.com/snowkey-go/snowkey/test/entid/internal/ent/schema"
	c.Features = []gen.Feature{gen.FeatureUpsert}
	for _, option := range append(options, entc.Storage("sql")) {
		if err := option(&c); err != nil {
			log.Fatal(err)
		}
	}
	g, err := gen.NewGraph(&c, schemas...)
	if err != nil {
		log.Fatal(err)
	}
	if err := g.Gen(); err != nil {
		log.Fatal(err)
	}
}
