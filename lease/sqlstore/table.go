package sqlstore

import (
	"fmt"
	"regexp"
	"strings"
)

// defaultTable is the table of a [Store] unless WithTable says otherwise.
const defaultTable = "snowkey_lease"

var tableName = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]{0,50}\.)?[A-Za-z_][A-Za-z0-9_]{0,50}$`)

// A TableError says that a table's name is refused. Such names can have ASCII
// letters, digits and underscores, 51 at most, and a schema's or database's name
// with a dot before them.
type TableError struct {
	Name string
}

func (e *TableError) Error() string {
	const most = 120 // the longest legal name has 103 bytes
	name := e.Name
	if len(name) > most {
		name = name[:most] + "…"
	}
	return fmt.Sprintf("sqlstore: %q cannot name a table of leases; use up to 51 letters, digits and underscores, after a schema's name and a dot if need be", name)
}

// quoted encloses each part of a legal name, so that its case stays and it may
// be a reserved word.
func quoted(name, quote string) string {
	return quote + strings.ReplaceAll(name, ".", quote+"."+quote) + quote
}
