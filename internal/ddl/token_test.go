package ddl

import (
	"fmt"
	"testing"
)

func TestTokens(t *testing.T) {
	for _, tc := range []struct {
		sql       string
		backslash bool
		want      string // text and kind of each token
	}{
		{"", false, "[]"},
		{"a.b", false, "[{a 0} {. 3} {b 0}]"},
		{`"a""b"`, false, `[{a"b 1}]`},
		{"[a b] `c`", false, "[{a b 1} {c 1}]"},
		{`'it''s' x`, false, "[{it's 2} {x 0}]"},
		{`'a\'b' x`, true, "[{a'b 2} {x 0}]"},
		{"a -- b\nc /* d */ e", false, "[{a 0} {c 0} {e 0}]"},
		{"'open", false, "[{open 2}]"},
		{"[open", false, "[{open 1}]"},
		{"/*", false, "[]"},
		{"é=1", false, "[{é 0} {= 3} {1 0}]"},
	} {
		t.Run(tc.sql, func(t *testing.T) {
			type token struct {
				text string
				kind Kind
			}
			var got []token
			end := 0
			for _, one := range Tokens(tc.sql, tc.backslash) {
				if one.Start < end || one.End <= one.Start || one.End > len(tc.sql) {
					t.Errorf("%+v is not after %d", one, end)
				}
				end = one.End
				got = append(got, token{one.Text, one.Kind})
			}
			if fmt.Sprint(got) != tc.want {
				t.Errorf("got %v, want %s", got, tc.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT a.b, `c`.`d`.`e`":     "[[SELECT] [a b] [c d e]]",
		"SELECT * FROM t":             "[[SELECT] [FROM] [t]]",
		"SELECT t.*, count(*), 2*a":   "[[SELECT] [t] [count] [2] [a]]",
		"SELECT 'x.y' /* z */ FROM t": "[[SELECT] [FROM] [t]]",
	} {
		t.Run(sql, func(t *testing.T) {
			if got := fmt.Sprint(Names(sql, false)); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// FuzzTokens checks that tokens follow each other, and that only spaces and comments are
// between them.
func FuzzTokens(f *testing.F) {
	for _, sql := range []string{
		`CREATE TABLE "a""b" (id INTEGER PRIMARY KEY, t TEXT DEFAULT 'it''s') -- end`, "SELECT `a`.* FROM [b c] /* d", `'a\'b' "open`, "é\xff.\x00[",
	} {
		f.Add(sql, false)
		f.Add(sql, true)
	}
	f.Fuzz(func(t *testing.T, sql string, backslash bool) {
		end := 0
		for _, token := range Tokens(sql, backslash) {
			if token.Start < end || token.End <= token.Start || token.End > len(sql) || len(token.Text) > token.End-token.Start {
				t.Fatalf("%q: %+v is after %d", sql, token, end)
			}
			if between := Tokens(sql[end:token.Start], backslash); len(between) > 0 {
				t.Fatalf("%q: %+v are missing", sql, between)
			}
			end = token.End
		}
		Names(sql, backslash)
	})
}
