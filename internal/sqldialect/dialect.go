// Package sqldialect defines how SQL is written for each kind of database, and what their
// drivers' errors mean. It doesn't import a driver or run any statements.
package sqldialect

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A Dialect is a kind of database.
type Dialect string

// For stores, MySQL includes MariaDB.
const (
	Postgres Dialect = "postgres"
	MySQL    Dialect = "mysql"
	MariaDB  Dialect = "mariadb"
	SQLite   Dialect = "sqlite"
)

// IsMySQL reports whether d is MySQL or MariaDB.
func (d Dialect) IsMySQL() bool { return d == MySQL || d == MariaDB }

// Quote quotes a name. Quotes preserve upper and lower case, and allow reserved words as
// names.
func (d Dialect) Quote(name string) string {
	mark := `"`
	if d.IsMySQL() {
		mark = "`"
	}
	return mark + strings.ReplaceAll(name, mark, mark+mark) + mark
}

// Path quotes a name and its qualifiers, and joins them with dots.
func (d Dialect) Path(names ...string) string { return joined(names, ".", d.Quote) }

// Table quotes a name that may begin with a schema and a dot.
func (d Dialect) Table(name string) string { return d.Path(strings.Split(name, ".")...) }

// List quotes the names and joins them with commas.
func (d Dialect) List(names []string) string { return joined(names, ", ", d.Quote) }

// Literals quotes the texts as string literals, and joins them with commas.
func (d Dialect) Literals(texts []string) string { return joined(texts, ", ", d.Literal) }

func joined(texts []string, separator string, quote func(string) string) string {
	var quoted []string
	for _, text := range texts {
		quoted = append(quoted, quote(text))
	}
	return strings.Join(quoted, separator)
}

// Literal quotes text as a string literal. On MySQL it doubles backslashes, because
// that's what a session without NO_BACKSLASH_ESCAPES expects.
func (d Dialect) Literal(text string) string {
	if d.IsMySQL() {
		text = strings.ReplaceAll(text, `\`, `\\`)
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// MySQLAccount quotes a user of MySQL, such as app or app@10.0.%, for a GRANT.
func MySQLAccount(user string) string {
	host := "%"
	if i := strings.LastIndex(user, "@"); i >= 0 {
		user, host = user[:i], user[i+1:]
	}
	return MySQL.Literal(user) + "@" + MySQL.Literal(host)
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
		case d.IsMySQL() && kind == "text":
			return fmt.Sprintf("_ascii x'%x'", value)
		case d.IsMySQL():
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

// ToASCII returns text in the form in which we store it. It has to be ASCII, because if
// a connection doesn't use the character set that the driver assumes, all other
// characters get converted. The same name would then be stored in two ways. An empty
// string is stored as "-", because MariaDB can be configured to store empty strings as
// NULL.
func ToASCII(text string) string {
	switch text {
	case "":
		return "-"
	case "-":
		return `\x2d`
	}
	quoted := strconv.QuoteToASCII(text)
	return quoted[1 : len(quoted)-1]
}

// FromASCII is the inverse of [ToASCII]. It returns s unchanged if ToASCII can't have
// returned it.
func FromASCII(s string) string {
	if s == "-" {
		return ""
	}
	if text, err := strconv.Unquote(`"` + s + `"`); err == nil {
		return text
	}
	return s
}

// Sections returns the parts of a file of SQL by their names. Each part follows a line
// "-- name: NAME", and may begin with comments.
func Sections(file string) map[string]string {
	sections := make(map[string]string)
	for _, section := range strings.Split("\n"+file, "\n-- name: ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		for strings.HasPrefix(text, "-- ") {
			_, text, _ = strings.Cut(text, "\n")
		}
		sections[name] = strings.TrimSpace(text)
	}
	return sections
}

// Statements splits a text into its statements, which have lines ";;" between them.
func Statements(text string) (statements []string) {
	if text == "" {
		return nil
	}
	for each := range strings.SplitSeq(text, "\n;;\n") {
		statements = append(statements, strings.TrimSpace(each))
	}
	return statements
}
