package sqlid

import "github.com/snowkey-go/snowkey/internal/fill"

// A FieldError reports that the declaration of a struct prevents its key from being
// filled. Every Fill of that type fails with this error until the declaration is
// changed. Its fields are the strings Package ("sqlid"), Model (such as "shop.User"),
// Field, Type, Problem and Remedy.
type FieldError = fill.FieldError

// A RowError reports why the rows of one call were not filled. No row has changed.
//
// Package is "sqlid". Model is a type such as "shop.User", or the type that was passed. Row
// is the index of the row in the call, or -1 for the whole call. Problem and Remedy
// say what is wrong and what to do. Err is the cause, or nil.
type RowError = fill.RowError
