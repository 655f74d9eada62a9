package pgxid

import "github.com/snowkey-go/snowkey/internal/fill"

// A RowError reports why CopyFrom couldn't give a key to a row. Nothing has been copied.
//
// Package is "pgxid". Model is the table name, with dots between its parts. Row is the index
// of the row in the source, or -1 if the error concerns the call as a whole. Problem and
// Remedy describe what's wrong and how to fix it. Err is the underlying error, if any.
type RowError = fill.RowError
