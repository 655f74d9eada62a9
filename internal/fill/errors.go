package fill

import "fmt"

// A FieldError reports that a model's declaration prevents its key from being filled,
// or lets the key be corrupted. Every call for that model fails with this error, before
// anything is sent to the database, until the declaration is changed.
type FieldError struct {
	Package string // the integration, such as "gormid"
	Model   string // such as "shop.User"
	Field   string // the field at fault; "" if it is the model
	Type    string // of the field
	Problem string // what is wrong
	Remedy  string // what to declare instead
}

func (e *FieldError) Error() string {
	where := e.Model
	if e.Field != "" {
		where += "." + e.Field + " (" + e.Type + ")"
	}
	return fmt.Sprintf("%s: %s %s; %s", e.Package, where, e.Problem, e.Remedy)
}

// A RowError reports why one call, or one of its rows, was rejected.
type RowError struct {
	Package string // the integration, such as "gormid"
	Model   string // such as "shop.User", or the table if there is no model
	Row     int    // the index of the row in the call; -1 if the error is about all rows
	Problem string // what is wrong
	Remedy  string // what to do
	Err     error  // the cause; may be nil
}

func (e *RowError) Error() string {
	where := e.Model
	if e.Row >= 0 {
		where = fmt.Sprintf("row %d of %s", e.Row, e.Model)
	}
	return fmt.Sprintf("%s: %s %s; %s", e.Package, where, e.Problem, e.Remedy)
}

// Unwrap returns Err.
func (e *RowError) Unwrap() error { return e.Err }
