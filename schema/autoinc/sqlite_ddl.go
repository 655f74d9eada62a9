package autoinc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/ddl"
)

// definedColumns returns the columns of a CREATE TABLE statement, and whether the table is
// STRICT. SQLite always stores it as CREATE TABLE name ( … ), without IF NOT EXISTS and without a
// schema.
func definedColumns(sql string) (columns [][]ddl.Token, strict bool) {
	words := ddl.Tokens(sql, false)
	if len(words) < 5 || !words[0].Is("CREATE") || !words[1].Is("TABLE") || !words[3].Is("(") {
		return nil, false
	}
	begin := 4
	for i, word := range words {
		if i < begin || word.Depth > 1 || word.Depth == 1 && !word.Is(",") {
			continue
		}
		if !words[begin].Is("CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN") { // those of the table
			columns = append(columns, words[begin:i])
		}
		begin = i + 1
		if word.Depth == 0 { // the end of the list
			break
		}
	}
	return columns, slices.ContainsFunc(words[min(begin, len(words)):], func(t ddl.Token) bool { return t.Is("STRICT") })
}

// retyped rewrites the CREATE TABLE statement of a table whose columns become integers, of
// which one may be the key. The key is an ordinary column there, which an INSERT must
// provide. Columns lose their default. The table may get one more column.
func retyped(sql string, columns []string, key, more string) (string, error) {
	defined, strict := definedColumns(sql)
	kind := "BIGINT"
	if strict {
		kind = "INT" // STRICT tables allow no other integer type than INT and INTEGER
	}
	var b strings.Builder
	written, found := 0, 0
	replace := func(start, end int, text string) {
		b.WriteString(sql[written:start] + text)
		written = end
	}
	for n, column := range defined {
		if slices.ContainsFunc(columns, column[0].Named) {
			found++
			rest, notNull := 1, "" // where the type ends
			for rest < len(column) && !column[rest].Is("CONSTRAINT", "PRIMARY", "NOT", "NULL", "UNIQUE", "CHECK", "DEFAULT", "COLLATE", "REFERENCES", "GENERATED", "AS") {
				rest++
			}
			if column[0].Named(key) && !slices.ContainsFunc(column, func(t ddl.Token) bool { return t.Is("NOT") }) {
				notNull = " NOT NULL"
			}
			replace(column[0].End, column[rest-1].End, " "+kind+notNull)
			for i, word := range column {
				switch {
				case word.Is("AUTOINCREMENT"):
					replace(word.Start, word.End, "")
				case word.Is("DEFAULT"):
					replace(word.Start, endOfValue(column[i+1:]), "")
				}
			}
		}
		if end := column[len(column)-1].End; n == len(defined)-1 && more != "" {
			replace(end, end, ", "+more)
		}
	}
	if found < len(columns) {
		return "", fmt.Errorf("its definition does not have the columns %q", columns)
	}
	return b.String() + sql[written:], nil
}

// endOfValue returns where the value of a DEFAULT ends, which is a literal, a signed number or
// an expression in parentheses.
func endOfValue(words []ddl.Token) int {
	last := 0
	switch {
	case words[0].Is("+", "-"):
		last = 1
	case words[0].Is("("):
		last = slices.IndexFunc(words, func(t ddl.Token) bool { return t.Is(")") && t.Depth == words[0].Depth })
	}
	return words[last].End
}

var rowids = []string{"rowid", "oid", "_rowid_"}

// usesRowid reports whether a view or trigger mentions a table and may use its rowid.
// If a trigger of the table doesn't mention the table again, it can only use the rowid
// with NEW or OLD. Any other rowid belongs to a different table, such as a search
// index.
func usesRowid(o sqliteObject, table string) bool {
	words := ddl.Tokens(o.sql, false)
	own := ddl.Lower(o.table) == ddl.Lower(table)
	named := 0
	for _, word := range words {
		if word.Named(table) {
			named++
		}
	}
	for i, word := range words {
		qualified := i > 1 && words[i-1].Is(".") && words[i-2].Is("NEW", "OLD")
		if slices.ContainsFunc(rowids, word.Named) && named > 0 && (o.kind == "view" || !own || named > 1 || qualified) {
			return true
		}
	}
	return false
}

// searches reports whether a table is a full-text index whose rows are linked to the
// rows of table by their rowid rather than by the column.
func searches(sql, table, column string) bool {
	words := ddl.Tokens(sql, false)
	option := func(name, value string) bool {
		for i := 2; i < len(words); i++ {
			if words[i-2].Named(name) && words[i-1].Is("=") && words[i].Named(value) {
				return true
			}
		}
		return false
	}
	return len(words) > 2 && words[0].Is("CREATE") && words[1].Is("VIRTUAL") && option("content", table) && !option("content_rowid", column)
}
