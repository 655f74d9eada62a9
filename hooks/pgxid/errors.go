package pgxid

import "github.com/snowkey-go/snowkey/internal/fill"

// A RowError reports why CopyFrom couldn't give a key to a row. Nothing has been copied.
//
// Package is "pgxid". Model is the name of the table, with dots between its parts. Row is
// the index of the row in the source, or -1 if the error concerns the whole call. Problem
// and Remedy say what is wrong and what you can do about it. Err is the cause, or nil.
type RowError = fill.RowError
