// Package keys names the typed key of the suite. As in a user's program, this has to be
// a separate package so that generated code can import it.
package keys

import "github.com/snowkey-go/snowkey/schema/pk"

// An Item is the type that the key identifies.
type Item struct{}

// An ItemID is the key of an Item.
type ItemID = pk.Of[Item]
