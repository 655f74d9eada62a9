package ddl

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Token is a word, quoted name, string or sign in SQL, along with its position in the
// text. Spaces and comments don't become tokens.
type Token struct {
	Text       string // without quotes
	Kind       Kind
	Start, End int
	Depth      int // of the parentheses that it stands in
}

// A Kind is the kind of a [Token].
type Kind int

const (
	Word   Kind = iota // a keyword, a name without quotes, or a number
	Quoted             // a name in double quotes, backticks or brackets
	String             // text in single quotes
	Sign               // any other character
)

// Is reports whether t is one of the given keywords or signs.
func (t Token) Is(words ...string) bool {
	return (t.Kind == Word || t.Kind == Sign) && slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, t.Text) })
}

// Named reports whether t is the given name, quoted or not. It compares names as SQLite
// does.
func (t Token) Named(name string) bool { return Lower(t.Text) == Lower(name) }

// Tokens splits SQL into tokens. If backslash is set, a backslash in a string escapes
// the next character, as it does in MySQL.
func Tokens(sql string, backslash bool) []Token { return slices.Collect(All(sql, backslash)) }

// All is [Tokens] as an iterator.
func All(sql string, backslash bool) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		depth := 0
		for at := 0; at < len(sql); {
			t, end := next(sql, at, backslash)
			if t.Is(")") {
				depth--
			}
			t.Depth = depth
			if t.Is("(") {
				depth++
			}
			if at = end; t.End > 0 && !yield(t) {
				return
			}
		}
	}
}

// next returns the token at a position in SQL, and where the next one begins. A space or a
// comment is the zero Token.
func next(sql string, at int, backslash bool) (t Token, end int) {
	rest := sql[at:]
	r, size := utf8.DecodeRuneInString(rest)
	t = Token{Text: rest[:size], Kind: Sign, Start: at}
	switch {
	case unicode.IsSpace(r):
		return Token{}, at + size
	case strings.HasPrefix(rest, "--"):
		return Token{}, at + through(rest, 2, "\n")
	case strings.HasPrefix(rest, "/*"):
		return Token{}, at + through(rest, 2, "*/")
	case r == '\'':
		t.Text, size = unquote(rest, backslash)
		t.Kind = String
	case r == '"' || r == '`':
		t.Text, size = unquote(rest, false)
		t.Kind = Quoted
	case r == '[':
		size = through(rest, 1, "]")
		t.Text, t.Kind = strings.TrimSuffix(rest[1:size], "]"), Quoted
	case letter(r):
		size = len(rest) - len(strings.TrimLeftFunc(rest, letter))
		t.Text, t.Kind = rest[:size], Word
	}
	t.End = at + size
	return t, t.End
}

// through returns the length of s up to and including mark, or all of s if there is no
// mark. The search for mark begins at from.
func through(s string, from int, mark string) int {
	if i := strings.Index(s[from:], mark); i >= 0 {
		return from + i + len(mark)
	}
	return len(s)
}

func letter(r rune) bool {
	return r == '_' || r == '$' || r >= utf8.RuneSelf || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// unquote returns the quoted text at the start of sql, and its length including the
// quotes. A doubled quote stands for a single one.
func unquote(sql string, backslash bool) (text string, size int) {
	var b strings.Builder
	for i := 1; i < len(sql); i++ {
		last := i+1 == len(sql)
		switch {
		case !last && (backslash && sql[i] == '\\' || sql[i] == sql[0] && sql[i+1] == sql[0]):
			i++
		case sql[i] == sql[0]:
			return b.String(), i + 1
		}
		b.WriteByte(sql[i])
	}
	return b.String(), len(sql)
}

// Names returns the names in SQL, each with its qualifiers: schema, table, column. It
// makes no attempt to leave out keywords.
func Names(sql string, backslash bool) (names [][]string) {
	dot := false // whether the next name continues the last one
	for _, t := range Tokens(sql, backslash) {
		switch last := len(names) - 1; {
		case t.Kind != Word && t.Kind != Quoted:
			dot = t.Is(".")
			continue
		case dot && last >= 0:
			names[last] = append(names[last], t.Text)
		default:
			names = append(names, []string{t.Text})
		}
		dot = false
	}
	return names
}

// Lower converts ASCII letters to lower case, as SQLite does to compare names.
func Lower(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}
