package pk

import "fmt"

// An Error says which value was rejected by a type in this package, and why. Anything
// that parses, scans or decodes may return an *Error, and leaves the receiver unchanged
// when it does. Encoding returns one for values the type can't express.
type Error struct {
	Type   string // the type that rejected the value, such as "pk.ID"
	Value  string // the rejected value in Go syntax, shortened
	Reason string // why, and what to do
}

func (e *Error) Error() string {
	return "pk: " + e.Type + " cannot hold " + e.Value + ": " + e.Reason
}

// maxQuoted limits how many bytes of a rejected text an error quotes. It's enough to
// show any key in full, while text from outside the program can be megabytes long.
const maxQuoted = 32

func (f *form) refuse(value any, reason string) error {
	e := &Error{Type: f.name, Reason: reason}
	if f.entity != nil {
		e.Type += "[" + f.entity.String() + "]"
	}
	switch v := value.(type) {
	case string:
		e.Value = quote(v)
	case []byte:
		e.Value = quote(string(v[:min(len(v), maxQuoted+1)]))
	case int, int64, uint64, float64, bool:
		e.Value = fmt.Sprintf("%T(%v)", v, v)
	default:
		e.Value = fmt.Sprintf("a %T", v)
	}
	return e
}

func quote(s string) string {
	if len(s) > maxQuoted {
		return fmt.Sprintf("%q…", s[:maxQuoted])
	}
	return fmt.Sprintf("%q", s)
}
