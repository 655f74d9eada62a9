package autoinc

import (
	"fmt"
	"slices"

	"github.com/snowkey-go/snowkey/internal/ddl"
)

// definedItems returns the columns and constraints of a CREATE TABLE statement. SQLite always
// stores it as CREATE TABLE name ( … ), without IF NOT EXISTS and without a schema.
func definedItems(sql string) (all [][]ddl.Token) {
	words := ddl.Tokens(sql, false)
	if len(words) < 4 || !words[0].Is("CREATE") || !words[1].Is("TABLE") || !words[3].Is("(") {
		return nil
	}
	depth := 1
	var item []ddl.Token
	for _, word := range words[4:] {
		switch {
		case word.Is("("):
			depth++
		case word.Is(")"):
			depth--
		}
		if depth == 0 {
			break
		}
		if depth == 1 && word.Is(",") {
			all, item = append(all, item), nil
			continue
		}
		item = append(item, word)
	}
	return append(all, item)
}

// retyped rewrites the CREATE TABLE statement of a table whose columns become integers, of
// which one may be the key. The key is an ordinary column there, which an INSERT must
// provide. Columns lose their default.
func retyped(sql string, columns []string, key string, strict bool) (string, error) {
	kind := "BIGINT"
	if strict {
		kind = "INT" // STRICT tables allow no other integer type than INT and INTEGER
	}
	type edit struct {
		start, end int
		text       string
	}
	var edits []edit
	for _, item := range definedItems(sql) {
		if isConstraint(item) || !slices.ContainsFunc(columns, item[0].Named) {
			continue
		}
		rest, notNull := 1, "" // where the type ends
		for rest < len(item) && !item[rest].Is("CONSTRAINT", "PRIMARY", "NOT", "NULL", "UNIQUE", "CHECK", "DEFAULT", "COLLATE", "REFERENCES", "GENERATED", "AS") {
			rest++
		}
		if item[0].Named(key) && !slices.ContainsFunc(item, func(t ddl.Token) bool { return t.Is("NOT") }) {
			notNull = " NOT NULL"
		}
		edits = append(edits, edit{item[0].End, item[rest-1].End, " " + kind + notNull})
		for i, word := range item {
			switch {
			case word.Is("AUTOINCREMENT"):
				edits = append(edits, edit{word.Start, word.End, ""})
			case word.Is("DEFAULT"):
				edits = append(edits, edit{word.Start, endOfValue(item[i+1:]), ""})
			}
		}
	}
	if len(edits) < len(columns) {
		return "", fmt.Errorf("its definition does not have the columns %q", columns)
	}
	slices.SortFunc(edits, func(a, b edit) int { return b.start - a.start })
	for _, e := range edits {
		sql = sql[:e.start] + e.text + sql[e.end:]
	}
	return sql, nil
}

// withColumn adds a column after those of a CREATE TABLE statement.
func withColumn(sql, definition string) string {
	end := 0
	for _, item := range definedItems(sql) {
		if isConstraint(item) {
			break
		}
		end = item[len(item)-1].End
	}
	return sql[:end] + ", " + definition + sql[end:]
}

// endOfValue returns where the value of a DEFAULT ends, which is a literal, a signed number or
// an expression in parentheses.
func endOfValue(words []ddl.Token) int {
	depth := 0
	for i, word := range words {
		switch {
		case word.Is("("):
			depth++
		case word.Is(")"):
			depth--
		}
		if depth == 0 && !(i == 0 && word.Is("+", "-")) {
			return word.End
		}
	}
	return words[len(words)-1].End
}

// isConstraint reports whether an item of a CREATE TABLE statement is a constraint
// rather than a column.
func isConstraint(item []ddl.Token) bool {
	return item[0].Is("CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN")
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
