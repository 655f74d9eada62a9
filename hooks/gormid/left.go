package gormid

import (
	"reflect"
	"slices"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/internal/fill"
	"github.com/snowkey-go/snowkey/internal/keytype"
)

// halfJoined returns an error if a row of a join table refers to a row that has no key. GORM
// creates such a row for one that it was told not to save, as with Omit("Tags.*"), and it
// would store 0. It uses DoNothing for the rows of join tables.
func (r *rows) halfJoined() error {
	if r.maps != nil {
		return nil
	}
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
					if keytype.Empty(ref.ForeignKey.ReflectValueOf(r.stmt.Context, r.row(i).v)) {
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
	rows, err := rowsOf(c.key, stmt)
	if err != nil || rows == nil {
		return nil // GORM refuses them
	}
	return rows.halfJoined()
}

// barren returns an error if row i has children even though the upsert has skipped it. Their
// foreign keys would have nothing to refer to.
func (r *rows) barren(i int) error {
	if r.maps != nil {
		return nil
	}
	selected, restricted := r.stmt.SelectAndOmitColumns(true, false)
	s := &r.k.schema.Relationships
	for _, rel := range slices.Concat(s.HasOne, s.HasMany, s.Many2Many) {
		if included, mentioned := selected[rel.Name]; !included && (mentioned || restricted) {
			continue // GORM doesn't save it
		}
		v, zero := rel.Field.ValueOf(r.stmt.Context, r.row(i).v)
		if children := reflect.Indirect(reflect.ValueOf(v)); zero || children.Kind() == reflect.Slice && children.Len() == 0 {
			continue
		}
		return r.k.Refuse(i, nil, "was left out by the upsert, and its "+rel.Name+" would refer to no row",
			"use Omit(\""+rel.Name+"\"), and create them for the row that is in the table")
	}
	return nil
}
