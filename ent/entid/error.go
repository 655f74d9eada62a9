package entid

import "github.com/snowkey-go/snowkey/internal/fill"

// A FieldError is returned on creating a row whose id is declared in a way that would store a
// wrong id. Its fields are the strings Package ("entid"), Model (the entity, e.g. "User"),
// Field, Type, Problem and Remedy.
type FieldError = fill.FieldError

// A RowError means that the source couldn't provide an id for a row. [BatchCreate] returns it
// as well. Nothing was inserted.
//
// Package is "entid", and Model is the entity (e.g. "User") or its table. Row is always -1,
// as ent doesn't tell us which row of a bulk create it's working on. Problem and Remedy tell
// you what's wrong and how to fix it. Err is the source's error, if any.
type RowError = fill.RowError
