package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"

	"github.com/snowkey-go/snowkey/ent/entid"
)

// Event is something that happened. Its key contains the time.
type Event struct{ ent.Schema }

func (Event) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin{}} }

func (Event) Fields() []ent.Field { return []ent.Field{field.String("name")} }
