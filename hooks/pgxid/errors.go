package pgxid

import "github.com/snowkey-go/snowkey/internal/fill"

// A RowError says why CopyFrom could not give a key to a row. Nothing was copied.
// The fields of a RowError:
//
//	Package string // "pgxid"
//	Model   string // the table as it was named, with dots
//	Row     int    // the index of the row in the source; -1 if the error is about all rows
//	Problem string // what is wrong
//	Remedy  string // what to do
//	Err     error  // the cause; may be nil
type RowError = fill.RowError
