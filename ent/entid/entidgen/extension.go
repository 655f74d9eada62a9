// Package entidgen extends ent's code generator for entities that use the mixin in package
// entid. Add it to the program that generates your client (often called entc.go):
//
//	err := entc.Generate("./schema", &gen.Config{}, entc.Extensions(entidgen.Extension{}))
//
// You can use the mixin without this extension. With it, though, the generated code does
// several things a hook can't:
//
//   - CreateBulk and MapCreateBulk reserve all their ids in one step before building the
//     first row, like [entid.Reserve].
//   - Postgres and SQLite aren't made to send back ids the program already knows, unless
//     ent needs them for edges or conflicts.
//   - Existing rows keep their ids in every upsert, even with sql.ResolveWithNewValues.
//   - On MySQL and MariaDB, an upsert's ID method works for numeric ids, and its edges
//     end up on the row that exists.
//   - A bulk DoNothing with edges returns an [entid.RowError] instead of storing edges
//     under the wrong rows. On MySQL and MariaDB, so does any other bulk upsert with
//     edges.
//
// This is a separate package because otherwise every program using the client would have to
// link ent's code generator.
//
// [entid.Reserve]: https://pkg.go.dev/github.com/snowkey-go/snowkey/ent/entid#Reserve
// [entid.RowError]: https://pkg.go.dev/github.com/snowkey-go/snowkey/ent/entid#RowError
package entidgen

import (
	"bytes"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"entgo.io/ent/dialect"
	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"
)

// Extension changes how ent's generated code creates rows. Only entities whose id has a type
// from package pk are affected. The zero value is ready to use.
type Extension struct{ entc.DefaultExtension }

// Hooks implements [entc.Extension].
func (Extension) Hooks() []gen.Hook {
	return []gen.Hook{func(next gen.Generator) gen.Generator {
		return gen.GenerateFunc(func(g *gen.Graph) error {
			if err := next.Generate(g); err != nil {
				return err
			}
			for _, node := range g.Nodes {
				if !hasKey(node) {
					continue
				}
				upserts, err := g.FeatureEnabled(gen.FeatureUpsert.Name)
				if err != nil {
					return err
				}
				path := filepath.Join(g.Target, node.PackageDir()+"_create.go")
				if err := rewrite(path, upserts && hasNumber(node)); err != nil {
					return err
				}
			}
			return nil
		})
	}}
}

const (
	entid = "github.com/snowkey-go/snowkey/ent/entid"
	pk    = "github.com/snowkey-go/snowkey/schema/pk"
)

func hasKey(node *gen.Type) bool {
	if !node.HasOneFieldID() || node.ID.Type == nil || node.ID.Type.RType == nil {
		return false
	}
	path := node.ID.Type.RType.PkgPath
	return path == pk || strings.HasPrefix(path, pk+"/")
}

// hasNumber reports whether the id of an entity is a number for MySQL.
func hasNumber(node *gen.Type) bool {
	return node.ID.Column().SchemaType[dialect.MySQL] == "bigint"
}

type change struct {
	what string
	find *regexp.Regexp
	with string
}

// An extension can't add a statement to the beginning of Save through ent's templates,
// or replace a call of sqlgraph. A copy of the templates would belong to one release of
// ent, so we change the code that they wrote. Each pattern must match exactly once.
var changes = []change{
	{"the import of sqlgraph", regexp.MustCompile(`(?m)^\t"entgo\.io/ent/dialect/sql/sqlgraph"\n`), "$0\t\"" + entid + "\"\n"},
	{"sqlgraph.CreateNode", regexp.MustCompile(`sqlgraph\.CreateNode\(`), "entid.CreateNode("},
	{"sqlgraph.BatchCreate", regexp.MustCompile(`sqlgraph\.BatchCreate\(`), "entid.BatchCreate("},
	{"CreateBulk.Save", regexp.MustCompile(`(?m)^func \((\w+) \*\w+CreateBulk\) Save\(ctx context\.Context\) .*\n`), `$0	unset := 0
	for _, b := range $1.builders {
		if id, _ := b.mutation.ID(); id.IsZero() {
			unset++
		}
	}
	ctx = entid.Reserve(ctx, unset)
`},
}

// These let an upsert return its id on MySQL, which ent does for integers only.
var refusal = []change{
	{"a refusal of MySQL in UpsertOne.ID", regexp.MustCompile(`(?m)^\tif \w+\.create\.driver\.Dialect\(\) == dialect\.MySQL {\n(?:\t\t.*\n)+\t}\n`), ""},
	{"the import of dialect", regexp.MustCompile(`(?m)^\t"entgo\.io/ent/dialect"\n`), ""},
}

// rewrite changes a file that ent has written. returning tells whether upserts of the
// entity return ids on MySQL.
func rewrite(path string, returning bool) error {
	code, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if bytes.Contains(code, []byte(`"`+entid+`"`)) {
		return nil // ent hasn't written it again
	}
	todo := changes
	if returning {
		todo = slices.Concat(changes, refusal)
	}
	for _, c := range todo {
		if n := len(c.find.FindAll(code, -1)); n != 1 {
			return fmt.Errorf("entidgen: %s has %s %d times, want once; this release of ent generates other code, so generate without the extension and report it", path, c.what, n)
		}
		code = c.find.ReplaceAll(code, []byte(c.with))
	}
	if code, err = format.Source(code); err != nil {
		return fmt.Errorf("entidgen: %s: %w", path, err)
	}
	return os.WriteFile(path, code, 0o644)
}
