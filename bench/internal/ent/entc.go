//go:build ignore

package main

import (
	"log"

	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"

	"github.com/snowkey-go/snowkey/ent/entid/entidgen"
)

func main() {
	err := entc.Generate("./schema", &gen.Config{}, entc.Extensions(entidgen.Extension{}))
	if err != nil {
		log.Fatal(err)
	}
}
