package entid

import (
	"fmt"
	"path"
	"reflect"
	"regexp"
	"strings"

	"entgo.io/ent/dialect"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"

	"github.com/snowkey-go/snowkey/internal/keytype"
)

// Field declares a column holding a key. [Mixin] already does this for the id, so you'll only
// need it for a foreign key that's a field in the schema:
//
//	func (Post) Fields() []ent.Field {
//		return []ent.Field{entid.Field[pk.ID]{Name: "author_id", Optional: true}}
//	}
//
//	func (Post) Edges() []ent.Edge {
//		return []ent.Edge{edge.From("author", User.Type).Ref("posts").Field("author_id").Unique()}
//	}
//
// ent sees a field.Other here rather than a field.Int64. That's on purpose: with field.Int64,
// ent would think that MySQL had chosen the id, and overwrite the ids of a bulk create with
// LastInsertId, LastInsertId+1 and so on (both in memory and in join tables).
type Field[T Key] struct {
	Name string

	// These have the same meaning as in ent's package field.
	Optional, Nillable, Unique, Immutable bool

	StorageKey  string
	StructTag   string
	Comment     string
	Annotations []schema.Annotation

	// Alias is the name of T in generated code. Types like pk.Of[User] need one, because ent
	// can't write type arguments. Declare the alias beside User, in a package that doesn't
	// import generated code:
	//
	//	package keys
	//
	//	type User struct{}
	//	type UserID = pk.Of[User]
	//
	// You can't call this package ids, since generated code is full of variables with that
	// name. Defaults to the type argument's name followed by ID, i.e. UserID for this
	// example.
	Alias string
}

// Descriptor implements [entgo.io/ent.Field].
func (f Field[T]) Descriptor() *field.Descriptor {
	var zero T
	column := zero.GormDataType()
	d := field.Other(f.Name, zero).SchemaType(map[string]string{
		dialect.MySQL:    column,
		dialect.Postgres: column,
		// We can't use "integer" here. Such a column would be an alias of the rowid,
		// and SQLite would number rows that don't have an id.
		dialect.SQLite: column,
	}).Descriptor()
	d.Optional, d.Nillable, d.Unique, d.Immutable = f.Optional, f.Nillable, f.Unique, f.Immutable
	d.StorageKey, d.Tag, d.Comment, d.Annotations = f.StorageKey, f.StructTag, f.Comment, f.Annotations
	t := reflect.TypeFor[T]()
	if strings.Contains(t.Name(), "[") && d.Err == nil {
		d.Err = spell(d.Info, t, f.Alias)
	}
	problem, remedy := keytype.Quoted(reflect.StructField{Type: t, Tag: reflect.StructTag(f.StructTag)})
	if problem != "" && d.Err == nil {
		d.Err = fmt.Errorf("entid: %s %s; %s", f.Name, problem, remedy)
	}
	return d
}

// spell makes generated code use the alias for the generic type t.
func spell(info *field.TypeInfo, t reflect.Type, alias string) error {
	// The name of a pk.Of[ids.User] is "Of[example.com/app/ids.User]".
	_, arg, _ := strings.Cut(strings.TrimSuffix(t.Name(), "]"), "[")
	dot := strings.LastIndexByte(arg, '.')
	if dot < 0 || strings.ContainsAny(arg, "[]*,· ") {
		return fmt.Errorf("entid: %s has a type argument that generated code cannot name; declare type User struct{} and type UserID = pk.Of[User] in a package of their own", t)
	}
	pkg, name := arg[:dot], arg[dot+1:]
	if alias == "" {
		alias = name + "ID"
	}
	info.PkgPath, info.PkgName = pkg, packageName(pkg)
	info.Ident = info.PkgName + "." + alias
	info.RType.Ident = info.Ident
	return nil
}

var (
	majorVersion  = regexp.MustCompile(`/v[0-9]+$`)
	notIdentifier = regexp.MustCompile(`[^\pL\pN_]+`)
)

// packageName returns a name for the package that can be used in generated code. If it isn't
// the last element of the path, ent adds it to the import.
func packageName(pkg string) string {
	base, _, _ := strings.Cut(path.Base(majorVersion.ReplaceAllString(pkg, "")), ".")
	return notIdentifier.ReplaceAllString(base, "")
}
