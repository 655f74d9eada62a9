package gormid

import (
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/internal/fill"
)

// A FieldError reports that a key can't be filled, or could get corrupted, because of how
// its model is declared. Until the declaration is fixed, any Create of that model will
// return this error before a transaction begins. Its fields are the strings Package
// ("gormid"), Model (e.g. "shop.User"), Field, Type, Problem and Remedy.
type FieldError = fill.FieldError

// A RowError reports why Create rejected a call, or one of the rows in it. If a transaction
// has already begun by then, it will be rolled back.
//
// Package is "gormid". Model is a type such as "shop.User", or the table name when there's
// no model. Row is the index of the row within the call, or -1 if the error concerns the
// call as a whole. Problem and Remedy describe what's wrong and how to fix it. Err is the
// underlying error, if any, which may also be the one GORM returns for the same mistake.
type RowError = fill.RowError

// modelName returns the name of a model for errors. We don't use schema.String, because it
// contains the whole import path.
func modelName(s *schema.Schema) string {
	if s.ModelType.Name() == "" { // GORM makes the types of its join tables
		return s.Table
	}
	return s.ModelType.String()
}

// errorsOf describes a field of a model for errors.
func errorsOf(s *schema.Schema, f *schema.Field) fill.Key {
	return fill.Key{Package: "gormid", Model: modelName(s), Field: f.Name, Type: f.FieldType.String()}
}

// fault returns a [*FieldError] for a field that need not be the model's key.
func fault(s *schema.Schema, f *schema.Field, problem, remedy string) error {
	return errorsOf(s, f).Fault(problem, remedy)
}
