package sqlid

import "github.com/snowkey-go/snowkey/internal/fill"

// A FieldError says why the declaration of a struct does not let its key be filled.
// Every Fill of that type fails with it until the declaration is changed. Its fields
// are the strings Package ("sqlid"), Model (such as "shop.User"), Field, Type,
// Problem and Remedy.
type FieldError = fill.FieldError

// A RowError says why the rows of one call were not filled. None of them has
// changed. The fields of a RowError:
//
//	Package string // "sqlid"
//	Model   string // such as "shop.User", or the type that was passed
//	Row     int    // the index of the row in the call; -1 if the error is about all rows
//	Problem string // what is wrong
//	Remedy  string // what to do
//	Err     error  // the cause; may be nil
type RowError = fill.RowError
