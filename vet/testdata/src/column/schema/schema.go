package schema

import "entgo.io/ent/schema/field"

type Tag struct {
	ID int64 `db:"id"`
}

func fields() []*field.Builder {
	return []*field.Builder{
		field.Int32("id"),     // want "The field id of an ent schema has fewer than 64 bits"
		field.Int32("tag_id"), // want "The field tag_id"
		field.Int32("age"),    // fine
		field.Int64("tag_id"), // fine
	}
}
