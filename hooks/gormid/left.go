package gormid

import (
	"context"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/internal/fill"
	"github.com/snowkey-go/snowkey/internal/keytype"
)

// halfJoined returns an error if a row of a join table refers to a row that has no key. GORM
// creates such a row for one that it was told not to save, as with Omit("Tags.*"), and it
// would store 0. It uses DoNothing for the rows of join tables.
func (r *structRows) halfJoined() error {
	s := r.k.schema
	for _, end := range relationsOf(s) {
		for _, rel := range end.FieldSchema.Relationships.Many2Many {
			if rel.JoinTable != s {
				continue
			}
			for _, ref := range rel.References {
				if ref.PrimaryKey == nil || !optedIn(ref.PrimaryKey) {
					continue
				}
				for i := range r.len() {
					if keytype.Empty(ref.ForeignKey.ReflectValueOf(r.ctx, r.at(i))) {
						return r.k.Refuse(i, nil, "refers to a "+modelName(ref.PrimaryKey.Schema)+" in "+ref.ForeignKey.Name+" that has no key",
							"create that row first")
					}
				}
			}
		}
	}
	return nil
}

// joined is halfJoined for a join table whose rows have no key that the plugin handles.
func joined(stmt *gorm.Statement) error {
	if stmt.Schema == nil {
		return nil
	}
	c := &creation{stmt: stmt, key: &key{Key: fill.Key{Package: "gormid", Model: modelName(stmt.Schema)}, schema: stmt.Schema}}
	if !c.mayMerge() {
		return nil
	}
	if rows, err := c.rowsOf(); err != nil || rows != &c.structs {
		return nil // GORM refuses them
	}
	return c.structs.halfJoined()
}

// barren returns an error if row i has children even though the upsert has skipped it. Their
// foreign keys would have nothing to refer to.
func (r *structRows) barren(stmt *gorm.Statement, i int) error {
	relations := r.saved(stmt, func(s *schema.Relationships) []*schema.Relationship {
		return slices.Concat(s.HasOne, s.HasMany, s.Many2Many)
	})
	for _, rel := range relations {
		if len(related(r.ctx, rel, r.at(i))) > 0 {
			return r.k.Refuse(i, nil, "was left out by the upsert, and its "+rel.Name+" would refer to no row",
				"use Omit(\""+rel.Name+"\"), and create them for the row that is in the table")
		}
	}
	return nil
}

// saved returns the relations that GORM saves along with the rows. of selects the kinds of
// relations that matter to the caller.
func (r *structRows) saved(stmt *gorm.Statement, of func(*schema.Relationships) []*schema.Relationship) (saved []*schema.Relationship) {
	relations := of(&r.k.schema.Relationships)
	if len(relations) == 0 {
		return nil
	}
	selected, restricted := stmt.SelectAndOmitColumns(true, false)
	for _, rel := range relations {
		if included, mentioned := selected[rel.Name]; included || !mentioned && !restricted {
			saved = append(saved, rel)
		}
	}
	return saved
}

// related returns the structs in a relation of a row.
func related(ctx context.Context, rel *schema.Relationship, row reflect.Value) (structs []reflect.Value) {
	v, zero := rel.Field.ValueOf(ctx, row)
	if zero {
		return nil
	}
	switch rv := reflect.Indirect(reflect.ValueOf(v)); rv.Kind() {
	case reflect.Struct:
		if rv.CanAddr() {
			return []reflect.Value{rv}
		}
		return []reflect.Value{reflect.Indirect(rel.Field.ReflectValueOf(ctx, row))}
	case reflect.Slice, reflect.Array:
		for i := range rv.Len() {
			if s := reflect.Indirect(rv.Index(i)); s.IsValid() {
				structs = append(structs, s)
			}
		}
	}
	return structs
}
