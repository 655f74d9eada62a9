package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"

	"github.com/snowkey-go/snowkey/ent/entid"
)

// Event is something that happened. There's no field for the time because the key
// contains it.
type Event struct{ ent.Schema }

func (Event) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin{}} }

func (Event) Fields() []ent.Field { return []ent.Field{field.String("name")} }
