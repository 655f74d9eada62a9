package entid

import "github.com/snowkey-go/snowkey/internal/fill"

// A FieldError is returned when a row is created whose id is declared in a way that
// would store a wrong id. Its fields are the strings Package ("entid"), Model (the
// entity, such as "User"), Field, Type, Problem and Remedy.
type FieldError = fill.FieldError

// A RowError is returned if the source fails to return an id for a row, and by
// [BatchCreate]. Nothing was inserted.
//
// Package is "entid". Model is the entity, such as "User", or its table. Row is -1,
// because ent does not say which row of a bulk create it is. Problem and Remedy say what
// is wrong and what to do. Err is the error of the source, or nil.
type RowError = fill.RowError
