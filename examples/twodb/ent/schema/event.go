// Package schema declares the events of the example for ent.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"

	"github.com/snowkey-go/snowkey/ent/entid"
)

// Event is something that happened. When it did, its key tells.
type Event struct{ ent.Schema }

func (Event) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin{}} }

func (Event) Fields() []ent.Field { return []ent.Field{field.String("name")} }
