// Package keys names the typed keys of the test schema. As in a user's program, this
// has to be a separate package so that generated code can import it.
package keys

import "github.com/snowkey-go/snowkey/schema/pk"

type (
	Card   struct{}
	CardID = pk.Of[Card]

	EventKey struct{}
	EventRef = pk.Of[EventKey]
)
