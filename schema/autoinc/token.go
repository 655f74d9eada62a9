package autoinc

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A token is a word of SQL. Strings and comments are none.
type token struct {
	text   string // without its quotes
	quoted bool
}

// star is the text of a star, which no name is in full: names are not empty.
const star = ""

// A chain is a name with its qualifiers: schema, table, column.
type chain []token

func (c chain) last() token { return c[len(c)-1] }

// chains splits SQL into names; whatever is between them falls away, but for a
// star that stands for columns. In MySQL, a backslash escapes within strings.
func chains(sql string, backslash bool) []chain {
	var all []chain
	dot := false  // whether the name that comes belongs to the last chain
	item := false // whether a star here would be columns, and not a product or count(*)
	add := func(t token) {
		if dot && len(all) > 0 {
			all[len(all)-1] = append(all[len(all)-1], t)
		} else {
			all = append(all, chain{t})
		}
		word := strings.ToUpper(t.text)
		dot, item = false, !t.quoted && (word == "SELECT" || word == "DISTINCT" || word == "ALL")
	}
	for len(sql) > 0 {
		r, size := utf8.DecodeRuneInString(sql)
		switch {
		case strings.HasPrefix(sql, "--"):
			sql = after(sql, "\n")
		case strings.HasPrefix(sql, "/*"):
			sql = after(sql[2:], "*/")
		case r == '\'':
			_, sql = unquote(sql, '\'', backslash)
			dot, item = false, false
		case r == '"' || r == '`':
			var name string
			name, sql = unquote(sql, byte(r), false)
			add(token{name, true})
		case r == '[':
			name, rest, _ := strings.Cut(sql[1:], "]")
			add(token{name, true})
			sql = rest
		case letter(r):
			end := strings.IndexFunc(sql, func(r rune) bool { return !letter(r) })
			if end < 0 {
				end = len(sql)
			}
			add(token{sql[:end], false})
			sql = sql[end:]
		default:
			sql = sql[size:]
			switch {
			case r == '.':
				dot = true
			case r == '*' && (dot || item):
				add(token{star, true})
			case !unicode.IsSpace(r):
				dot, item = false, r == ','
			}
		}
	}
	return all
}

func letter(r rune) bool {
	return r == '_' || r == '$' || r >= utf8.RuneSelf || unicode.IsLetter(r) || unicode.IsDigit(r)
}

func after(s, mark string) string {
	_, rest, _ := strings.Cut(s, mark)
	return rest
}

// unquote takes what is in quotes off the start of sql. A doubled quote stands for one.
func unquote(sql string, quote byte, backslash bool) (name, rest string) {
	var b strings.Builder
	for i := 1; i < len(sql); i++ {
		switch {
		case backslash && sql[i] == '\\' && i+1 < len(sql):
			i++
		case sql[i] != quote:
		case i+1 < len(sql) && sql[i+1] == quote:
			i++
		default:
			return b.String(), sql[i+1:]
		}
		b.WriteByte(sql[i])
	}
	return b.String(), ""
}
