package sqlid

import "github.com/snowkey-go/snowkey/internal/fill"

// A FieldError means that a key can't be filled because of how its struct is declared. Until
// you fix the declaration, any Fill of that type will return this error. Its fields are the
// strings Package ("sqlid"), Model (e.g. "shop.User"), Field, Type, Problem and Remedy.
type FieldError = fill.FieldError

// A RowError says why Fill couldn't fill the rows of a call. No row has changed.
//
// Package is "sqlid". Model is a type such as "shop.User", or whatever type was passed. Row
// is the index of the row within the call, or -1 if the error is about the call as a whole.
// Problem and Remedy tell you what's wrong and how to fix it. Err is the underlying error, if
// any.
type RowError = fill.RowError
