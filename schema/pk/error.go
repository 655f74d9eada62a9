package pk

import "fmt"

// An Error says which value a type of this package refused and why. It is
// returned by everything that parses, scans or decodes, and by what encodes a
// number that its form cannot express. The receiver is then unchanged.
type Error struct {
	Type   string // the type that refused, such as "pk.ID"
	Value  string // what it refused, in Go syntax and cut to a few words
	Reason string // why, and what to do
}

func (e *Error) Error() string {
	return "pk: " + e.Type + " cannot hold " + e.Value + ": " + e.Reason
}

// maxQuoted is how many bytes of a refused text an error repeats. It shows any
// key whole; text from outside can be megabytes.
const maxQuoted = 32

func (f form) refuse(value any, reason string) error {
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
