package sqlid

import "github.com/snowkey-go/snowkey/internal/fill"

// A FieldError reports that a key can't be filled because of how its struct is declared.
// Until the declaration is fixed, any Fill of that type will return this error. Its fields
// are the strings Package ("sqlid"), Model (e.g. "shop.User"), Field, Type, Problem and
// Remedy.
type FieldError = fill.FieldError

// A RowError reports why Fill couldn't fill the rows in a call. None of them have changed.
//
// Package is "sqlid". Model is a type such as "shop.User", or whatever type was passed. Row
// is the index of the row within the call, or -1 if the error concerns the call as a whole.
// Problem and Remedy describe what's wrong and how to fix it. Err is the underlying error,
// if any.
type RowError = fill.RowError
