package bunid

import (
	"reflect"
	"slices"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/snowkey-go/snowkey/internal/ddl"
)

// A statement describes an INSERT before it's sent. bun doesn't export the parts of its
// queries, but it can write each query as a template with question marks for the values.
// That's what we parse. It's safe to do, because all text in a template comes from the
// program itself.
type statement struct {
	unclear   bool     // there's a backslash before a quote, which only some databases take for an escape
	replace   bool     // REPLACE INTO
	conflict  bool     // IGNORE, ON CONFLICT or ON DUPLICATE KEY: rows may be left out or merged
	query     bool     // the rows come from a query
	columns   []string // that are written
	returning []string
}

// isPlain reports whether an INSERT has nothing but a model: no columns, values, conflicts,
// comments and so on. Most INSERTs are like that, so we don't need a template for them, which
// would take a third of the time of an INSERT into SQLite. If bun has set a field that we
// don't know, the INSERT isn't plain.
func isPlain(q *bun.InsertQuery) bool { return isUnset(reflect.ValueOf(q).Elem()) }

// alwaysSet has the types of the connection, the model and its table.
var alwaysSet = []reflect.Type{reflect.TypeFor[*bun.DB](), reflect.TypeFor[bun.IConn](),
	reflect.TypeFor[bun.Model](), reflect.TypeFor[bun.TableModel](), reflect.TypeFor[*schema.Table]()}

// isUnset reports whether the fields of a struct are zero, except for alwaysSet.
func isUnset(v reflect.Value) bool {
	n := v.NumField()
	for i := range n { // v.Fields allocates
		switch f := v.Field(i); {
		case slices.Contains(alwaysSet, f.Type()):
		case f.Kind() == reflect.Struct && !isUnset(f), f.Kind() != reflect.Struct && !f.IsZero():
			return false
		}
	}
	return true
}

// statementOf describes what q will send. It needs a copy of q, because bun changes a query
// while writing it.
func statementOf(q *bun.InsertQuery) (statement, error) {
	c := *q
	template, err := c.AppendQuery(schema.NewNopQueryGen(), nil)
	if err != nil {
		return statement{}, err
	}
	return parse(string(template)), nil
}

// parse describes an INSERT by its template. It only reads the words outside parentheses and
// the names of the columns.
func parse(template string) statement {
	s := statement{unclear: strings.Contains(template, `\'`) || strings.Contains(template, `\"`)}
	var clause string
	for w := range ddl.All(template, false) {
		if w.Is("(", ")") {
			continue
		}
		if w.Depth == 0 && w.Kind == ddl.Word {
			switch next := strings.ToUpper(w.Text); next {
			case "INSERT", "REPLACE":
				if clause == "" {
					clause, s.replace = next, next == "REPLACE"
				}
				continue
			case "IGNORE":
				s.conflict = s.conflict || clause == "INSERT"
				continue
			case "INTO", "VALUES", "SELECT", "ON", "RETURNING":
				if clause != "" && slices.Index(clauses, clause) < slices.Index(clauses, next) {
					clause = next
					s.conflict = s.conflict || next == "ON"
					s.query = s.query || next == "SELECT"
					continue
				}
			}
		}
		switch {
		case clause == "INTO" && w.Depth == 1 && !w.Is(","):
			s.columns = append(s.columns, w.Text)
		case clause == "RETURNING" && w.Depth == 0 && (w.Is(",") || len(s.returning) == 0):
			s.returning = append(s.returning, w.Text)
		case clause == "RETURNING" && w.Depth == 0:
			last := &s.returning[len(s.returning)-1]
			if *last == "?" { // a placeholder, such as ?PKs
				w.Text = "?" + w.Text
			}
			*last = w.Text // users.id is id, and id AS x is x
		}
	}
	return s
}

// clauses lists the clauses of an INSERT in their order.
var clauses = []string{"", "INSERT", "REPLACE", "INTO", "VALUES", "SELECT", "ON", "RETURNING"}

// writes reports whether the INSERT writes a column.
func (s statement) writes(column string) bool { return has(s.columns, column) }

// returns reports whether the key of the rows comes back.
func (s statement) returns(key string) bool {
	return s.returnsAll() || has(s.returning, key, "?PKs", "?TablePKs")
}

// returnsAll reports whether whole rows come back.
func (s statement) returnsAll() bool { return has(s.returning, "*", "?Columns", "?TableColumns") }

// has reports whether list contains one of the names, in upper or lower case.
func has(list []string, some ...string) bool {
	return slices.ContainsFunc(list, func(name string) bool {
		return slices.ContainsFunc(some, func(s string) bool { return strings.EqualFold(s, name) })
	})
}

// A target is a table that a query inserts into.
type target struct {
	table string
	depth int // of the parentheses that its name stands in
}

// targets returns the tables that a query inserts into. The query may already contain its
// values. We can't mistake those for SQL, because bun doubles each quote inside quotes.
func targets(query string) (found []target) {
	tokens := ddl.Tokens(query, false)
	for i, w := range tokens {
		if names := tokens[i+1:]; w.Is("INTO") && len(names) > 0 {
			for len(names) > 2 && names[1].Is(".") { // shop.users
				names = names[2:]
			}
			found = append(found, target{names[0].Text, w.Depth})
		}
	}
	return found
}
