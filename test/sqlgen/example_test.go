package sqlgen

import (
	"fmt"
	"log"

	"github.com/snowkey-go/snowkey/internal/sqlgen"
)

// A migration of Postgres creates the function snowkey_next(), and lets the role shop call
// it in the default of a column.
func Example() {
	var w sqlgen.Writer
	migration, err := w.Postgres()
	if err != nil {
		log.Fatal(err)
	}
	migration = append(migration, w.PostgresGrants("shop")...)
	migration = append(migration, "ALTER TABLE orders ALTER id SET DEFAULT snowkey_next()")
	for _, statement := range migration[len(migration)-3:] {
		fmt.Println(statement)
	}
	// Output:
	// GRANT USAGE ON SCHEMA "public" TO "shop"
	// GRANT EXECUTE ON FUNCTION "public"."snowkey_next"(), "public"."snowkey_next"(bigint) TO "shop"
	// ALTER TABLE orders ALTER id SET DEFAULT snowkey_next()
}
