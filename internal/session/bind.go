package session

import (
	"fmt"
	"regexp"
)

// A Binding is how a kind of database takes the values of a statement.
type Binding int

// The bindings of the databases that Snowkey knows.
const (
	// Typed parameters, because the simple protocol and untyped ones leave it to the
	// server to guess.
	PostgresBinding Binding = iota
	SQLiteBinding
	// No parameters: the driver would prepare the statement, for a round trip and much
	// of the server's work. What is written instead means the same in every sql_mode.
	MySQLBinding
)

var parameter = regexp.MustCompile(`@@?[a-z_]+`)

// Bind puts values, which are int64 or string, in the place of their @names. It
// leaves the @@variables of MySQL alone. Text becomes ASCII, as [ToASCII] says.
func (b Binding) Bind(text string, values map[string]any) (query string, args []any) {
	query = parameter.ReplaceAllStringFunc(text, func(name string) string {
		if name[1] == '@' {
			return name
		}
		value, kind := values[name[1:]], "bigint"
		if s, ok := value.(string); ok {
			value, kind = ToASCII(s), "text"
		}
		switch {
		case b == MySQLBinding && kind == "text":
			return fmt.Sprintf("_ascii x'%x'", value)
		case b == MySQLBinding:
			return fmt.Sprintf("(%d)", value)
		}
		args = append(args, value)
		if b == SQLiteBinding {
			return "?"
		}
		return fmt.Sprintf("$%d::%s", len(args), kind)
	})
	return query, args
}
