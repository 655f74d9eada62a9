package pgxid

import "github.com/snowkey-go/snowkey/internal/fill"

// A RowError reports why CopyFrom could not give a key to a row. Nothing was copied.
//
// Package is "pgxid". Model is the name of the table, with dots between its parts. Row
// is the index of the row in the source, or -1 for the whole call. Problem and Remedy
// say what is wrong and what to do. Err is the cause, or nil.
type RowError = fill.RowError
