package entid

import "github.com/snowkey-go/snowkey/internal/fill"

// A FieldError is returned when a row is created whose id is declared in a way that
// would store a wrong id. Its fields are the strings Package ("entid"), Model (the
// entity, such as "User"), Field, Type, Problem and Remedy.
type FieldError = fill.FieldError

// A RowError is returned when the source has no id for a row. Nothing was inserted.
// The fields of a RowError:
//
//	Package string // "entid"
//	Model   string // the entity, such as "User"
//	Row     int    // -1: ent does not say which row of a bulk create it is
//	Problem string // what is wrong
//	Remedy  string // what to do
//	Err     error  // the error of the source
type RowError = fill.RowError
