package gormid

import (
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/internal/fill"
)

// A FieldError says why a model's declaration does not let its key be filled, or
// lets it be damaged. Every Create of that model fails with it, before a
// transaction begins, until the declaration is changed. Its fields are the strings
// Package ("gormid"), Model (such as "shop.User"), Field, Type, Problem and Remedy.
type FieldError = fill.FieldError

// A RowError says why one call of Create, or one of its rows, was refused. If the
// transaction of the call had begun, it is rolled back.
//
// Package is "gormid". Model is a type such as "shop.User", or the table if there is no
// model. Row is the index of the row in the call, or -1 for the whole call. Problem
// and Remedy say what is wrong and what to do. Err is the cause, or GORM's error for
// the same fault, or nil.
type RowError = fill.RowError

// modelName is short where schema.String spells the whole import path.
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

// fault returns the error for a field that is not the key of a creation.
func fault(s *schema.Schema, f *schema.Field, problem, remedy string) error {
	k := errorsOf(s, f)
	return k.Fault(problem, remedy)
}
