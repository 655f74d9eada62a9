package database

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/snowkey-go/snowkey/internal/sqldialect"
)

// A Routine is a function, procedure or trigger in the database that uses integers of
// fewer than 64 bits, be it as a parameter, a variable, a cast or a result. If one of
// them holds a key, the routine fails once it gets a generated key, or stores another
// number.
type Routine struct {
	kind, name string // the name is as written by the server, with the parameters
	text       string
	schema     string // on MySQL and MariaDB
}

// A cast to SIGNED INTEGER has 64 bits in MySQL, and TINYINT(1) is how MySQL writes
// BOOLEAN. Both come first in this expression, so that they won't match as narrow
// types.
var narrowType = regexp.MustCompile(`(?i)\b(?:UN)?SIGNED\s+INT(?:EGER)?\b|\bTINYINT\(1\)|\b(int2|int4|int|integer|tinyint|smallint|mediumint|smallserial|serial)\b`)

// NarrowRoutines returns the routines that use integers of fewer than 64 bits, as far
// as the account may see them. There are none on SQLite.
func NarrowRoutines(ctx context.Context, conn *sql.Conn, s Server) ([]Routine, error) {
	if s.Dialect == sqldialect.SQLite {
		return nil, nil
	}
	all, err := List(ctx, conn, s.Query(Queries, "routines"), func(r *Routine) []any { return []any{&r.kind, &r.name, &r.text, &r.schema} })
	return slices.DeleteFunc(all, func(r Routine) bool {
		narrow := func(match []string) bool { return match[1] != "" }
		return !slices.ContainsFunc(narrowType.FindAllStringSubmatch(r.text, -1), narrow)
	}), err
}

// Mentions reports whether the routine contains the name of the table as a whole word.
// A routine in another database of MySQL must contain the name of the schema too.
func (r Routine) Mentions(schema, table string) bool {
	return Contains(r.text, table) && (r.schema == "" || strings.EqualFold(r.schema, schema) || Contains(r.text, schema))
}

func (r Routine) String() string { return fmt.Sprintf("the %s %s", r.kind, r.name) }

// Contains reports whether SQL contains a name as a whole word.
func Contains(text, name string) bool {
	text, name = strings.ToLower(text), strings.ToLower(name)
	inWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || r == '_' || r == '$' }
	for from := 0; name != ""; {
		at := strings.Index(text[from:], name)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(name):])
		if !inWord(before) && !inWord(after) {
			return true
		}
		from = at + len(name)
	}
	return false
}
