// Package keys names keys of the tests, because sqlc can't write a type with a type argument.
package keys

import (
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/schema/pk/public"
)

// These entities have keys of their own types.
type (
	Team   struct{}
	Member struct{}
)

// Prefix begins the text of a team's key.
func (Team) Prefix() string { return "team" }

// Prefix names the entity for public ids.
func (Member) Prefix() string { return "member" }

// These are the keys.
type (
	TeamID   = pk.Prefixed[Team]
	MemberID = public.ID[Member]
)
