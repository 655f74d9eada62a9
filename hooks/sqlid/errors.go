package sqlid

import "github.com/snowkey-go/snowkey/internal/fill"

// A FieldError reports that a key can't be filled because of the way its struct is declared.
// Until you change the declaration, every Fill of that type returns this error. Its fields
// are the strings Package ("sqlid"), Model (such as "shop.User"), Field, Type, Problem and
// Remedy.
type FieldError = fill.FieldError

// A RowError reports why Fill couldn't fill the rows of a call. None of them has changed.
//
// Package is "sqlid". Model is a type such as "shop.User", or whatever type was passed. Row
// is the index of the row in the call, or -1 if the error concerns the whole call. Problem
// and Remedy say what is wrong and what you can do about it. Err is the cause, or nil.
type RowError = fill.RowError
