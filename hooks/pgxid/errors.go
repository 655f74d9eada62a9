package pgxid

import "github.com/snowkey-go/snowkey/internal/fill"

// A RowError says why CopyFrom couldn't give a row its key. Nothing has been copied.
//
// Package is "pgxid". Model is the table name, with dots between its parts. Row is the index
// of the row in the source, or -1 if the error is about the call as a whole. Problem and
// Remedy tell you what's wrong and how to fix it. Err is the underlying error, if any.
type RowError = fill.RowError
