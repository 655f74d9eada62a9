package gormid

import (
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/internal/fill"
)

// A FieldError reports that a key can't be filled, or might get corrupted, because of the
// way its model is declared. Until you change the declaration, every Create of that model
// returns this error before a transaction begins. Its fields are the strings Package
// ("gormid"), Model (such as "shop.User"), Field, Type, Problem and Remedy.
type FieldError = fill.FieldError

// A RowError reports why a call of Create, or one of its rows, was rejected. If the call has
// already begun a transaction, it is rolled back.
//
// Package is "gormid". Model is a type such as "shop.User", or the table if there is no
// model. Row is the index of the row in the call, or -1 if the error concerns the whole
// call. Problem and Remedy say what is wrong and what you can do about it. Err is the
// cause, or GORM's error for the same fault, or nil.
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
	k := errorsOf(s, f)
	return k.Fault(problem, remedy)
}
