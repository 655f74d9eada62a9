// Package keys names the typed keys of the suite. As in a user's program, this has to be
// a separate package so that generated code can import it.
package keys

import (
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/schema/pk/public"
)

// An Item is the type that the keys identify.
type Item struct{}

// Prefix begins the text of an item's prefixed key.
func (Item) Prefix() string { return "item" }

// These are the keys of an Item.
type (
	ItemID         = pk.Of[Item]
	PrefixedItemID = pk.Prefixed[Item]
	PublicItemID   = public.ID[Item]
)
