// Package schema declares the same row for ent with each kind of key. The benchmark on
// SQLite compares Filled with Preset, whereas the one on servers compares Filled,
// Counted, Random and Ordered.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"

	"github.com/snowkey-go/snowkey/bench/internal/uuid16"
	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// Filled has a key that the mixin fills in.
type Filled struct{ ent.Schema }

// Preset has a key of the same type, but it's set by the caller.
type Preset struct{ ent.Schema }

// Counted has an auto-increment key.
type Counted struct{ ent.Schema }

// Random has a UUIDv4 key.
type Random struct{ ent.Schema }

// Ordered has a UUIDv7 key.
type Ordered struct{ ent.Schema }

func (Filled) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin{}} }

func (Filled) Fields() []ent.Field  { return columns() }
func (Preset) Fields() []ent.Field  { return columns(entid.Field[pk.ID]{Name: "id"}) }
func (Counted) Fields() []ent.Field { return columns(field.Int64("id")) }
func (Random) Fields() []ent.Field  { return columns(id16()) }
func (Ordered) Fields() []ent.Field { return columns(id16()) }

func (Filled) Annotations() []schema.Annotation  { return table("rows_snowkey") }
func (Counted) Annotations() []schema.Annotation { return table("rows_auto") }
func (Random) Annotations() []schema.Annotation  { return table("rows_uuidv4") }
func (Ordered) Annotations() []schema.Annotation { return table("rows_uuidv7") }

func columns(id ...ent.Field) []ent.Field {
	return append(id, field.String("name"), field.String("email"), field.Time("created_at"))
}

func id16() ent.Field {
	return field.UUID("id", uuid16.UUID{}).SchemaType(map[string]string{dialect.MySQL: "binary(16)"})
}

func table(name string) []schema.Annotation {
	return []schema.Annotation{entsql.Table(name)}
}
