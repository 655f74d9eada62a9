package bunid

import (
	"fmt"

	"github.com/uptrace/bun/schema"
)

// A ModelError says why a model's declaration does not let its key be filled,
// or lets it be damaged. [Use] returns those of all models; so does every insert
// of the model, before anything is sent, until the declaration is changed.
type ModelError struct {
	Model   string // such as "shop.User"
	Field   string // the key; "" if the fault is the model's
	Type    string // of the key
	Problem string // what is wrong
	Remedy  string // what to declare instead
}

func (e *ModelError) Error() string {
	where := e.Model
	if e.Field != "" {
		where += "." + e.Field + " (" + e.Type + ")"
	}
	return fmt.Sprintf("bunid: %s %s; %s", where, e.Problem, e.Remedy)
}

// An InsertError says why one statement, or one of its rows, was refused.
// Nothing has been sent to the database.
type InsertError struct {
	Model   string // such as "shop.User", or the table if there is no model
	Row     int    // which row of the statement, from 0; -1 if all
	Problem string
	Remedy  string
	Err     error // the cause; may be nil
}

func (e *InsertError) Error() string {
	where := e.Model
	if e.Row >= 0 {
		where = fmt.Sprintf("row %d of %s", e.Row, e.Model)
	}
	return fmt.Sprintf("bunid: %s %s; %s", where, e.Problem, e.Remedy)
}

// Unwrap returns Err.
func (e *InsertError) Unwrap() error { return e.Err }

func modelName(t *schema.Table) string { return t.Type.String() }

// refuse returns the error for a statement as a whole.
func refuse(t *schema.Table, problem, remedy string) error {
	return &InsertError{Model: modelName(t), Row: -1, Problem: problem, Remedy: remedy}
}
