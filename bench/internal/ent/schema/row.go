// Package schema declares the same row twice for ent: once with a key that
// entid fills, and once with one that the caller sets.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// Filled has its key filled by the mixin.
type Filled struct{ ent.Schema }

// Preset has a key of the same type, and nothing that fills it.
type Preset struct{ ent.Schema }

func (Filled) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin{}} }

func (Filled) Fields() []ent.Field { return columns() }

func (Preset) Fields() []ent.Field {
	return append([]ent.Field{entid.Field[pk.ID]{Name: "id"}}, columns()...)
}

func columns() []ent.Field {
	return []ent.Field{field.String("name"), field.String("email"), field.Time("created_at")}
}
