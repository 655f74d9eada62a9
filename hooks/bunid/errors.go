package bunid

import (
	"github.com/uptrace/bun/schema"

	"github.com/snowkey-go/snowkey/internal/fill"
)

// A FieldError reports that a key can't be filled, or might get corrupted, because of the way
// its model is declared. [Use] returns the errors of all models. Until you change the
// declaration, each INSERT of that model returns this error before anything is sent.
//
// Its fields are the strings Package ("bunid"), Model (such as "shop.User"), Field,
// Type, Problem and Remedy. Field and Type are empty if the error is about the model.
type FieldError = fill.FieldError

// A RowError reports why a statement, or one of its rows, was rejected. Nothing has been sent
// to the database.
//
// Package is "bunid". Model is a type such as "shop.User", or the table if there is no
// model. Row is the index of the row in the statement, or -1 if the error concerns the
// whole statement. Problem and Remedy say what is wrong and what you can do about it. Err
// is the cause, or nil.
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
