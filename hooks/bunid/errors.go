package bunid

import (
	"github.com/uptrace/bun/schema"

	"github.com/snowkey-go/snowkey/internal/fill"
)

// A FieldError reports that a key can't be filled, or could get corrupted, because of how
// its model is declared. [Use] returns these for all models when the program starts. Until
// the declaration is fixed, every INSERT of the model will fail with the same error before
// anything is sent.
//
// Its fields are the strings Package ("bunid"), Model (e.g. "shop.User"), Field, Type,
// Problem and Remedy. Field and Type are empty if the error concerns the model as a whole.
type FieldError = fill.FieldError

// A RowError reports why a statement, or one of the rows in it, was rejected. Nothing has
// been sent to the database.
//
// Package is "bunid". Model is a type such as "shop.User", or the table name when there's no
// model. Row is the index of the row within the statement, or -1 if the error concerns the
// statement as a whole. Problem and Remedy describe what's wrong and how to fix it. Err is
// the underlying error, if any.
type RowError = fill.RowError

func modelName(t *schema.Table) string { return t.Type.String() }

// fault returns the error for a model as a whole.
func fault(model, problem, remedy string) error {
	return fill.Key{Package: "bunid", Model: model}.Fault(problem, remedy)
}

// refuse returns the error for a statement as a whole.
func refuse(model, problem, remedy string) error {
	return fill.Key{Package: "bunid", Model: model}.Refuse(-1, nil, problem, remedy)
}
