package gormid

import (
	"reflect"
	"slices"

	"github.com/snowkey-go/snowkey/internal/keytype"
)

// halfJoined returns an error if a row of a join table refers to a row that has no key. GORM
// creates such a row for one that it was told not to save, as with Omit("Tags.*"), and it
// would store 0. It uses DoNothing for the rows of join tables.
func (c *creation) halfJoined() error {
	if c.maps {
		return nil
	}
	s := c.key.schema
	for _, end := range relationsOf(s) {
		for _, rel := range end.FieldSchema.Relationships.Many2Many {
			if rel.JoinTable != s {
				continue
			}
			for _, ref := range rel.References {
				if ref.PrimaryKey == nil || !optedIn(ref.PrimaryKey) {
					continue
				}
				for i, r := range c.rows {
					if keytype.Empty(ref.ForeignKey.ReflectValueOf(c.stmt.Context, r.v)) {
						return c.key.Refuse(i, nil, "refers to a "+modelName(ref.PrimaryKey.Schema)+" in "+ref.ForeignKey.Name+" that has no key",
							"create that row first")
					}
				}
			}
		}
	}
	return nil
}

// barren returns an error if row i has children even though the upsert has skipped it. Their
// foreign keys would have nothing to refer to.
func (c *creation) barren(i int) error {
	if c.maps {
		return nil
	}
	selected, restricted := c.stmt.SelectAndOmitColumns(true, false)
	s := &c.key.schema.Relationships
	for _, rel := range slices.Concat(s.HasOne, s.HasMany, s.Many2Many) {
		if included, mentioned := selected[rel.Name]; !included && (mentioned || restricted) {
			continue // GORM doesn't save it
		}
		v, zero := rel.Field.ValueOf(c.stmt.Context, c.rows[i].v)
		if children := reflect.Indirect(reflect.ValueOf(v)); zero || children.Kind() == reflect.Slice && children.Len() == 0 {
			continue
		}
		return c.key.Refuse(i, nil, "was left out by the upsert, and its "+rel.Name+" would refer to no row",
			"use Omit(\""+rel.Name+"\"), and create them for the row that is in the table")
	}
	return nil
}
