// Package keys names the typed key of the suite. As in a user's program it is a
// package of its own, so that generated code can import it.
package keys

import "github.com/snowkey-go/snowkey/schema/pk"

// An Item is what the key is of.
type Item struct{}

// An ItemID is the key of an Item.
type ItemID = pk.Of[Item]
