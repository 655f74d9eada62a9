package protocol

import (
	"fmt"
	"strconv"
)

// A VersionError says that a table or file has another protocol version. This program
// does not write to it.
type VersionError struct {
	Where string // the table, or the file
	Found string // its version, or what it has instead of a version
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("snowkey: %s has protocol version %s, and this program has version %s; use a release of Snowkey with version %s, or follow the upgrade notes of this release",
		e.Where, e.Found, Known(), e.Found)
}

// Known is the version that this program reads and writes.
func Known() string { return strconv.Itoa(Version) }
