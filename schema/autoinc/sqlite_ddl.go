package autoinc

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A lexeme is a word, a string or a sign of SQLite's SQL, with its place in the
// text.
type lexeme struct {
	text       string // of a name, without quotes
	quoted     bool   // a name in quotes or a string: no keyword
	start, end int
}

// is reports whether it is one of the keywords or signs.
func (l lexeme) is(words ...string) bool {
	return !l.quoted && slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, l.text) })
}

// lex splits SQL of SQLite; comments fall away.
func lex(sql string) (all []lexeme) {
	for at := 0; at < len(sql); {
		rest := sql[at:]
		r, size := utf8.DecodeRuneInString(rest)
		end := at + size
		text, quoted := rest[:size], false
		switch {
		case unicode.IsSpace(r):
			at = end
			continue
		case strings.HasPrefix(rest, "--"):
			at = len(sql) - len(after(rest, "\n"))
			continue
		case strings.HasPrefix(rest, "/*"):
			at = len(sql) - len(after(rest[2:], "*/"))
			continue
		case r == '\'' || r == '"' || r == '`':
			var tail string
			text, tail = unquote(rest, byte(r), false)
			end, quoted = len(sql)-len(tail), true
		case r == '[':
			name, tail, _ := strings.Cut(rest[1:], "]")
			text, end, quoted = name, len(sql)-len(tail), true
		case letter(r):
			n := strings.IndexFunc(rest, func(r rune) bool { return !letter(r) })
			if n < 0 {
				n = len(rest)
			}
			text, end = rest[:n], at+n
		}
		all = append(all, lexeme{text, quoted, at, end})
		at = end
	}
	return all
}

// withoutCounter rewrites the CREATE TABLE of a table whose column is the rowid
// under another name: the new table is called as, and the column is an ordinary
// one that has to be sent.
func withoutCounter(sql, column, as string, strict bool) (string, error) {
	words := lex(sql)
	// CREATE TABLE name ( … ), as SQLite keeps it; it drops IF NOT EXISTS and the schema.
	if len(words) < 4 || !words[0].is("CREATE") || !words[1].is("TABLE") || !words[3].is("(") {
		return "", fmt.Errorf("its definition does not begin with CREATE TABLE name (")
	}
	kind := "BIGINT"
	if strict {
		kind = "INT" // which is not INTEGER, and the only other that STRICT knows
	}
	type edit struct {
		start, end int
		text       string
	}
	edits := []edit{{words[2].start, words[2].end, as}}
	found := false
	for _, item := range items(words[4:]) {
		defines := lowerASCII(item[0].text) == lowerASCII(column) && !isConstraint(item)
		for i, word := range item {
			switch {
			case word.is("AUTOINCREMENT"):
				edits = append(edits, edit{word.start, word.end, ""})
			case defines && i == 1 && word.is("INTEGER"):
				found = true
				notNull := " NOT NULL"
				for j := range item[:len(item)-1] {
					if item[j].is("NOT") && item[j+1].is("NULL") {
						notNull = ""
					}
				}
				edits = append(edits, edit{word.start, word.end, kind + notNull})
			case defines && i == 1:
				// A quoted type, such as "INTEGER", counts as well.
				if strings.EqualFold(word.text, "INTEGER") {
					return "", fmt.Errorf("the type of %s is in quotes", column)
				}
			}
		}
	}
	if !found {
		return "", fmt.Errorf("its definition has no column %s INTEGER", column)
	}
	slices.SortFunc(edits, func(a, b edit) int { return b.start - a.start })
	for _, e := range edits {
		sql = sql[:e.start] + e.text + sql[e.end:]
	}
	return sql, nil
}

// items splits what is between the parentheses of a CREATE TABLE.
func items(words []lexeme) (all [][]lexeme) {
	depth := 1
	var item []lexeme
	for _, word := range words {
		switch {
		case word.is("("):
			depth++
		case word.is(")"):
			depth--
		}
		if depth == 0 {
			break
		}
		if depth == 1 && word.is(",") {
			all, item = append(all, item), nil
			continue
		}
		item = append(item, word)
	}
	all = append(all, item)
	return slices.DeleteFunc(all, func(item []lexeme) bool { return len(item) == 0 })
}

// isConstraint reports whether an item of a CREATE TABLE defines no column.
func isConstraint(item []lexeme) bool {
	return item[0].is("CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN")
}

// usesRowid reports whether SQL names the rowid in one of its own ways.
func usesRowid(sql string) bool {
	return slices.ContainsFunc(lex(sql), func(l lexeme) bool {
		name := lowerASCII(l.text)
		return name == "rowid" || name == "oid" || name == "_rowid_"
	})
}

// names reports whether SQL has a name in it.
func names(sql, name string) bool {
	return slices.ContainsFunc(lex(sql), func(l lexeme) bool { return lowerASCII(l.text) == lowerASCII(name) })
}
