package public

import (
	"errors"
	"fmt"
)

// ErrNoCodec is the error of every ID that is written or read while there is no codec.
var ErrNoCodec = errors.New("public: there is no codec; call public.SetDefault in main, before ids are written or read")

// An Error reports text that isn't a public id of the entity. It deliberately has no
// reason: a forged id, a mistyped one and one of another entity are all the same. Respond
// as you do if no row has the id, which on the web is status 404.
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
