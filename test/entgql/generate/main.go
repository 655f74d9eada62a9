// Generate runs ent with entgql in the folder ent, followed by gqlgen in the folder
// graph.
package main

import (
	"log"
	"os"

	"entgo.io/contrib/entgql"
	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"
	"github.com/99designs/gqlgen/api"
	"github.com/99designs/gqlgen/codegen/config"
)

func main() {
	relay, err := entgql.NewExtension(
		entgql.WithSchemaGenerator(),
		entgql.WithSchemaPath("../graph/ent.graphql"),
		entgql.WithConfigPath("../graph/gqlgen.yml"),
		entgql.WithWhereInputs(true),
	)
	check(err)
	check(entc.Generate("./schema", &gen.Config{Features: []gen.Feature{gen.FeatureEntQL, gen.FeaturePrivacy}}, entc.Extensions(relay)))
	check(os.Chdir("../graph"))
	cfg, err := config.LoadConfig("gqlgen.yml")
	check(err)
	check(api.Generate(cfg))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
