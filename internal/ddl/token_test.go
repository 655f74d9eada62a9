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
		"SELECT * FROM t":             "[[SELECT] [] [FROM] [t]]",
		"SELECT t.*, count(*), 2*a":   "[[SELECT] [t ] [count] [2] [a]]",
		"SELECT 'x.y' /* z */ FROM t": "[[SELECT] [FROM] [t]]",
	} {
		t.Run(sql, func(t *testing.T) {
			if got := fmt.Sprint(Names(sql, false)); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}
