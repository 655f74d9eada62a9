package sqlid_test

import "github.com/snowkey-go/snowkey/schema/pk"

// These are the ways to declare a key.
type (
	user    struct{ ID pk.ID }
	typed   struct{ ID pk.Of[typed] }
	text    struct{ ID pk.Text }
	sorted  struct{ ID pk.SortText }
	stringy struct{ ID pk.String }
	maybe   struct{ ID *pk.ID }

	number int64
	tagged struct {
		Key int64 `snowkey:""`
	}
	raised struct {
		Key uint64 `snowkey:""`
	}
	written struct {
		Key string `snowkey:""`
	}
	named struct {
		Key number `snowkey:""`
	}

	Base      struct{ ID pk.ID }
	byPointer struct {
		*Base
		Name string
	}
)
