package pgxid

import "fmt"

// A CopyError says why CopyFrom could not give a key to a row. Nothing was
// copied.
type CopyError struct {
	Table   string // as it was named, with dots
	Row     int    // which row of the source, from 0; -1 if all
	Problem string
	Remedy  string
	Err     error // the cause; may be nil
}

func (e *CopyError) Error() string {
	where := e.Table
	if e.Row >= 0 {
		where = fmt.Sprintf("row %d of %s", e.Row, e.Table)
	}
	return fmt.Sprintf("pgxid: %s %s; %s", where, e.Problem, e.Remedy)
}

// Unwrap returns Err.
func (e *CopyError) Unwrap() error { return e.Err }
