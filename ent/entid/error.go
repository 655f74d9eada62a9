package entid

// A FieldError is returned when a row is created whose id is declared in a way
// that would make it wrong.
type FieldError struct {
	Entity string // the schema, as in "User"
	Reason string // what is wrong and what to do
}

func (e *FieldError) Error() string { return "entid: the id of " + e.Entity + " " + e.Reason }
