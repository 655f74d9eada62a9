package protocol

import (
	"fmt"
	"strconv"
)

// A VersionError says that another version of Snowkey made a table or file, and
// that this one does not write to it.
type VersionError struct {
	Where string // the table, or the file
	Found string // its version, or what it has in place of one
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("snowkey: %s is of protocol version %s, and this program knows version %s; use a release of Snowkey that knows version %s, or follow the upgrade notes of this one",
		e.Where, e.Found, Known(), e.Found)
}

// Known is the version that this program reads and writes.
func Known() string { return strconv.Itoa(Version) }
