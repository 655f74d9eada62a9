package gormid

import (
	"context"
	"database/sql/driver"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/internal/fill"
	"github.com/snowkey-go/snowkey/internal/keytype"
)

// tag is the name of our setting in the gorm tag. A key whose type isn't one of package pk
// is only filled if it has this setting. The setting may name a generator, and snowkey:-
// leaves the key to the caller. It's in upper case here because that's what GORM converts
// the names of settings to.
const tag = "SNOWKEY"

// A key describes which field of a model we fill, and how.
type key struct {
	fill.Key
	schema *schema.Schema
	field  *schema.Field
	typ    reflect.Type // of the field, or of what it points to

	// given is the reason why the caller must set this key, or "" if the plugin fills it.
	given string

	// parts are all parts of a composite key, which the caller must set, or just this key.
	parts []*key
}

// newKey returns the key of a model, or nil if the plugin has nothing to do with it.
func newKey(s *schema.Schema, dialect string) (*key, error) {
	if err := checkForeignKeys(s, dialect); err != nil {
		return nil, err
	}
	var parts []*key
	for _, f := range s.PrimaryFields {
		if !optedIn(f) {
			continue
		}
		k := &key{Key: errorsOf(s, f), schema: s, field: f, typ: f.IndirectFieldType}
		switch {
		case isForeignKey(s, f):
			k.given = "is a foreign key"
		case len(s.PrimaryFields) > 1:
			k.given = "is part of a composite key"
		}
		parts = append(parts, k)
	}
	if len(parts) == 0 {
		return nil, checkStrayTag(s)
	}
	k := parts[0]
	k.parts = parts
	switch name := k.field.TagSettings[tag]; name {
	case tag, "": // no value
	case "-":
		k.given = "is tagged snowkey:-"
	default:
		k.Generator = name
	}
	if k.given != "" {
		return k, nil
	}
	return k, k.check(dialect)
}

// optedIn reports whether the plugin handles a primary field, because of its type or
// its tag.
func optedIn(f *schema.Field) bool {
	_, tagged := f.TagSettings[tag]
	return tagged || keytype.IsPK(f.IndirectFieldType)
}

// isForeignKey reports whether f refers to another row. The relation may be declared in
// s, or in another model that GORM has already parsed.
func isForeignKey(s *schema.Schema, f *schema.Field) bool {
	return slices.ContainsFunc(referencesOf(s), func(ref *schema.Reference) bool {
		return ref.ForeignKey.Schema == s && ref.ForeignKey.DBName == f.DBName
	})
}

// referencesOf returns the foreign keys in the relations of s, with what they refer to.
func referencesOf(s *schema.Schema) (all []*schema.Reference) {
	for _, rel := range relationsOf(s) {
		all = append(all, rel.References...)
	}
	return all
}

// relationsOf returns the relations of s. It holds their lock, because GORM may add
// relations to s while it parses another model. GORM 1.25 has no such lock.
func relationsOf(s *schema.Schema) []*schema.Relationship {
	if mux := reflect.ValueOf(&s.Relationships).Elem().FieldByName("Mux"); mux.IsValid() {
		lock := mux.Addr().Interface().(*sync.RWMutex)
		lock.RLock()
		defer lock.RUnlock()
	}
	return slices.Collect(maps.Values(s.Relationships.Relations))
}

// check returns an error if the key would be truncated, numbered by the database or not
// written at all.
func (k *key) check(dialect string) error {
	f := k.field
	switch {
	case f.StructField.Anonymous:
		return k.Embedded()
	case f.FieldType.Kind() == reflect.Pointer && f.FieldType.Elem().Kind() == reflect.Pointer:
		return k.Fault("is a pointer to a pointer", "use at most one")
	case f.Serializer != nil:
		return k.Fault("has a serializer", "remove it; pk.Text and pk.SortText store keys as text")
	case !keytype.Holds(k.typ):
		return k.Fault("cannot hold a 64-bit key", "declare it as pk.ID, int64, uint64 or string")
	}
	_, identity := f.TagSettings["GENERATED"] // Postgres
	switch column := strings.ToLower(string(f.DataType)); {
	case f.AutoIncrement, identity, strings.Contains(column, "serial"), strings.Contains(column, "auto_increment"):
		return k.Fault("is numbered by the database", "declare it as pk.ID, or add autoIncrement:false to its gorm tag, and no identity or serial type")
	case f.HasDefaultValue:
		return k.Fault("has a default", "remove the default from its gorm tag")
	case !f.Creatable:
		return k.Fault("is not written by Create", "remove the permission (-, -> or <-) from its gorm tag")
	case narrow(f, k.typ, dialect):
		return k.Fault(fmt.Sprintf("has a column that is too narrow for a 64-bit key (%s, size %d)", f.DataType, f.Size),
			"remove type and size from its gorm tag")
	}
	if problem, remedy := keytype.Clash(k.typ, columnType(f)); problem != "" {
		return k.Fault(problem, remedy)
	}
	return nil
}

// narrow reports whether the column of f is too narrow for some keys of type t. If it doesn't
// know the type of the column, it returns false.
func narrow(f *schema.Field, t reflect.Type, dialect string) bool {
	switch f.DataType {
	case schema.Int, schema.Uint:
		return f.Size < 64
	}
	return keytype.Narrow(t, columnType(f), dialect == "sqlite")
}

// columnType returns the type of the column of f. The types that GORM chooses have names that
// only it knows, except for text.
func columnType(f *schema.Field) ddl.Type {
	switch {
	case f.DataType != schema.String:
		return ddl.ParseType(string(f.DataType))
	case f.Size > 0:
		return ddl.Type{Name: "varchar", Args: []int{f.Size}}
	}
	return ddl.Type{Name: "text"}
}

// unkeyed returns the error for a model in Config.Models whose key the plugin doesn't
// handle.
func unkeyed(s *schema.Schema) error {
	const remedy = "declare a primary key of type pk.ID, add snowkey and autoIncrement:false to the gorm tag of the primary key, or set Config.FillIntegers"
	if f := s.PrioritizedPrimaryField; f != nil {
		if isForeignKey(s, f) {
			return fault(s, f, "is also a foreign key, so it is not filled", "set it, and leave the model out of Config.Models")
		}
		return fault(s, f, "has not opted in", remedy)
	}
	return fill.Key{Package: "gormid", Model: modelName(s)}.Fault("has no key to fill", remedy)
}

// checkStrayTag returns an error if the tag snowkey is on a field that isn't a primary key,
// where it would have no effect.
func checkStrayTag(s *schema.Schema) error {
	for _, f := range s.Fields {
		if _, ok := f.TagSettings[tag]; ok && !f.PrimaryKey {
			return fault(s, f, "is tagged snowkey but is not a primary key", "tag the primary key")
		}
	}
	return nil
}

// checkForeignKeys rejects foreign keys whose Go type or column cannot hold a 64-bit key. GORM
// copies the parent's key into the foreign key after an insert. If the field is an int32,
// that drops bits, and if it is a string, GORM stores the Unicode character with that
// number. To find out, checkForeignKeys copies a sample key using GORM's own setters and
// then compares the two.
func checkForeignKeys(s *schema.Schema, dialect string) error {
	r := &s.Relationships
	for _, rel := range slices.Concat(r.BelongsTo, r.HasOne, r.HasMany, r.Many2Many) {
		for _, ref := range rel.References {
			if ref.PrimaryKey == nil || !ref.PrimaryKey.PrimaryKey || !optedIn(ref.PrimaryKey) {
				continue
			}
			f, t := ref.ForeignKey, ref.PrimaryKey.IndirectFieldType
			if !carries(ref.PrimaryKey, f) {
				return fault(f.Schema, f, fmt.Sprintf("cannot hold the key of %s that it refers to", modelName(ref.PrimaryKey.Schema)),
					fmt.Sprintf("declare it as %s", ref.PrimaryKey.FieldType))
			}
			if keytype.Holds(t) && narrow(f, t, dialect) {
				return fault(f.Schema, f, fmt.Sprintf("has a column that is too narrow for the key of %s that it refers to (%s, size %d)",
					modelName(ref.PrimaryKey.Schema), f.DataType, f.Size), "remove type and size from its gorm tag")
			}
		}
	}
	return nil
}

func carries(from, to *schema.Field) bool {
	k := key{field: from, typ: from.IndirectFieldType}
	if from.ValueOf == nil || !keytype.Holds(k.typ) {
		return true // because newKey returns an error for it anyway
	}
	const sample = 1<<53 + 1 // the smallest integer that a float64 cannot hold
	ctx := context.Background()
	row := reflect.New(to.Schema.ModelType)
	if err := to.Set(ctx, row, k.value(sample)); err != nil {
		return false
	}
	v, _ := to.ValueOf(ctx, row)
	sent, err1 := canonical(k.value(sample))
	got, err2 := canonical(v)
	return err1 == nil && err2 == nil && fmt.Sprint(sent) == fmt.Sprint(got)
}

// canonical returns the value that database/sql passes to the driver for v.
func canonical(v any) (driver.Value, error) { return driver.DefaultParameterConverter.ConvertValue(v) }

// value returns id as a value of the key's type, so that it is sent in the form that
// the column stores.
func (k *key) value(id int64) any { return keytype.New(k.typ, id).Interface() }
