package public

import (
	"errors"
	"fmt"
)

// ErrNoCodec is returned when an ID is written or read before there is a codec.
var ErrNoCodec = errors.New("public: there is no codec; call public.SetDefault in main, before ids are written or read")

// An Error means that some text isn't a public id of the entity. The text may
// be forged or mistyped, or the id of another entity. The error deliberately doesn't say
// which. Handle it just like an id that no row has (on the web, that's a 404).
type Error struct {
	Entity string // such as "user"
	Value  string // the text in Go syntax, shortened
}

func (e *Error) Error() string {
	return fmt.Sprintf("public: %s is not the id of a %s; respond as if the row did not exist", e.Value, e.Entity)
}

// maxQuoted limits how many bytes of a text an error quotes.
const maxQuoted = 32

func refuse[S string | []byte](entity string, text S) error {
	value := fmt.Sprintf("%q", text[:min(len(text), maxQuoted)])
	if len(text) > maxQuoted {
		value += "…"
	}
	return &Error{entity, value}
}
