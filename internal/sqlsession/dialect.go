package sqlsession

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

// The databases in which stores keep their tables. MySQL includes MariaDB.
const (
	Postgres Dialect = iota
	MySQL
	SQLite
)

// ErrNoDatabase is returned by the methods of a store without a database.
var ErrNoDatabase = errors.New("there is no database; make the store with Postgres, MySQL or SQLite and an open *sql.DB")

// A TableNameError is returned for a name that is not allowed for a table. A name has
// at most 51 ASCII letters, digits and underscores. It may be preceded by the name of a
// schema or database, which must have the same form, and a dot.
type TableNameError struct {
	Name string
}

func (e *TableNameError) Error() string {
	return fmt.Sprintf("snowkey: %.120q cannot be the name of a table; use up to 51 letters, digits and underscores, after a schema name and a dot if needed", e.Name)
}

var tableName = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]{0,50}\.)?[A-Za-z_][A-Za-z0-9_]{0,50}$`)

// CheckName returns a [*TableNameError] if name is not allowed for a table.
func CheckName(name string) error {
	if !tableName.MatchString(name) {
		return &TableNameError{name}
	}
	return nil
}

// SplitName splits a name into schema and table. The schema is "" if the name has none.
func SplitName(name string) (schema, table string) {
	if before, after, ok := strings.Cut(name, "."); ok {
		return before, after
	}
	return "", name
}

// Quote quotes each part of a name. Quotes preserve upper and lower case, and allow
// reserved words as names.
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
		_, _, err := WriteMySQL(ctx, db, Settings{}, func(sql.Result) bool { return true }, statement, nil)
		return err
	}
	_, err := db.ExecContext(ctx, statement)
	return err
}

var parameter = regexp.MustCompile(`@@?[a-z_]+`)

// Bind replaces the @names in a statement with parameters for values, which must be
// int64 or string. The @@variables of MySQL are left alone. Text is converted to ASCII;
// see [ToASCII].
//
// On PostgreSQL the parameters get explicit types, because with the simple protocol the
// server would otherwise have to guess them. On MySQL we use literals instead, which
// mean the same in every sql_mode. With parameters, the driver would have to prepare
// the statement, which costs a round trip and server time.
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
