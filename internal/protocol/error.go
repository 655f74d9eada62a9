package protocol

import (
	"fmt"
	"strconv"
)

// A VersionError is returned for a table or file that has another protocol version.
// This program must not write to it.
type VersionError struct {
	Where string // the table, or the file
	Found string // its version, or what was found in place of one
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("snowkey: %s has protocol version %s, and this program has version %s; use a release of Snowkey with version %s, or follow the upgrade notes of this release",
		e.Where, e.Found, Known(), e.Found)
}

// Known returns [Version] as text.
func Known() string { return strconv.Itoa(Version) }
