package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"

	"github.com/snowkey-go/snowkey/ent/entid"
)

type User struct{ ent.Schema }

func (User) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin{}} } // the id

func (User) Fields() []ent.Field { return []ent.Field{field.String("name")} }
