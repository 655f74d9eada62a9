package bunid

import (
	"github.com/uptrace/bun/schema"

	"github.com/snowkey-go/snowkey/internal/fill"
)

// A FieldError says why a model's declaration does not let its key be filled, or
// lets it be damaged. [Use] returns the errors of all models. Each INSERT of such a
// model fails with its error, before anything is sent, until the declaration is
// changed. The fields are the strings Package ("bunid"), Model (such as "shop.User"),
// Field, Type, Problem and Remedy. Field and Type are empty if the fault is the model's.
type FieldError = fill.FieldError

// A RowError says why one statement, or one of its rows, was refused. Nothing has
// been sent to the database. The fields of a RowError:
//
//	Package string // "bunid"
//	Model   string // such as "shop.User", or the table if there is no model
//	Row     int    // the index of the row in the statement; -1 if the error is about all rows
//	Problem string // what is wrong
//	Remedy  string // what to do
//	Err     error  // the cause; may be nil
type RowError = fill.RowError

func modelName(t *schema.Table) string { return t.Type.String() }

// fault returns the error for a model as a whole.
func fault(model, problem, remedy string) error {
	k := fill.Key{Package: "bunid", Model: model}
	return k.Fault(problem, remedy)
}

// refuse returns the error for a statement as a whole.
func refuse(model, problem, remedy string) error {
	k := fill.Key{Package: "bunid", Model: model}
	return k.Refuse(-1, nil, problem, remedy)
}
