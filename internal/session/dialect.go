package session

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// A Dialect is a kind of database.
type Dialect int

// The databases in which stores keep their tables. MySQL stands for MariaDB too.
const (
	Postgres Dialect = iota
	MySQL
	SQLite
)

// ErrNoDatabase is returned by the methods of a store that has no database.
var ErrNoDatabase = errors.New("there is no database; make the store with Postgres, MySQL or SQLite and an open *sql.DB")

// A TableNameError is returned for a name that a table cannot have. A name has at most 51
// ASCII letters, digits and underscores. A schema or database name of the same form
// and a dot may precede it.
type TableNameError struct {
	Name string
}

func (e *TableNameError) Error() string {
	return fmt.Sprintf("snowkey: %.120q cannot be the name of a table; use up to 51 letters, digits and underscores, after a schema name and a dot if needed", e.Name)
}

var tableName = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]{0,50}\.)?[A-Za-z_][A-Za-z0-9_]{0,50}$`)

// CheckName returns a [*TableNameError] if name cannot be the name of a table.
func CheckName(name string) error {
	if !tableName.MatchString(name) {
		return &TableNameError{name}
	}
	return nil
}

// SplitName returns the schema, which is "" if the name has none, and the table.
func SplitName(name string) (schema, table string) {
	if before, after, ok := strings.Cut(name, "."); ok {
		return before, after
	}
	return "", name
}

// Quote encloses each part of a name in quotes, so that the database preserves upper and
// lower case, and so that reserved words can be names.
func (d Dialect) Quote(name string) string {
	quote := `"`
	if d == MySQL {
		quote = "`"
	}
	return quote + strings.ReplaceAll(name, ".", quote+"."+quote) + quote
}

// Create runs a statement that creates a table.
func (d Dialect) Create(ctx context.Context, db *sql.DB, statement string) error {
	switch d {
	case Postgres:
		return createPostgres(ctx, db, statement)
	case MySQL:
		_, _, err := WriteMySQL(ctx, db, func(sql.Result) bool { return true }, statement, nil)
		return err
	}
	_, err := db.ExecContext(ctx, statement)
	return err
}

var parameter = regexp.MustCompile(`@@?[a-z_]+`)

// Bind replaces the @names in a statement by parameters for values, which are int64
// or string. It does not change the @@variables of MySQL. Text becomes ASCII; see
// [ToASCII].
//
// For PostgreSQL the parameters have explicit types, because with the simple protocol the
// server would have to guess the types. For MySQL the values become literals, because
// with parameters the driver would prepare the statement, which costs a round trip and
// server time. The literals mean the same in every sql_mode.
func (d Dialect) Bind(text string, values map[string]any) (query string, args []any) {
	query = parameter.ReplaceAllStringFunc(text, func(name string) string {
		if name[1] == '@' {
			return name
		}
		value, kind := values[name[1:]], "bigint"
		if s, ok := value.(string); ok {
			value, kind = ToASCII(s), "text"
		}
		switch {
		case d == MySQL && kind == "text":
			return fmt.Sprintf("_ascii x'%x'", value)
		case d == MySQL:
			return fmt.Sprintf("(%d)", value)
		}
		args = append(args, value)
		if d == SQLite {
			return "?"
		}
		return fmt.Sprintf("$%d::%s", len(args), kind)
	})
	return query, args
}
