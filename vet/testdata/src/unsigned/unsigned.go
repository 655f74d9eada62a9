package unsigned

import "github.com/snowkey-go/snowkey/schema/pk"

func keys(u uint64, i int64, w uint32) []pk.ID {
	return []pk.ID{
		pk.ID(u), // want "u may be above the largest key"
		pk.ID(i), // fine
		pk.ID(w), // fine
		pk.ID(7), // fine
	}
}

func typed(u uint64) pk.Of[int] { return pk.Of[int](u) } // want "u may be above"
