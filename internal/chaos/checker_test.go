package chaos

import (
	"math/rand/v2"
	"testing"
)

const id = 1<<53 + 1

func TestCheckerFindsSharedIDs(t *testing.T) {
	span := func(worker, first, last int64) Span { return Span{worker, first, last, last - first + 1, "a process"} }
	for name, tt := range map[string]struct {
		spans []Span
		want  int
	}{
		"nothing":                      {nil, 0},
		"neighbours":                   {[]Span{span(1, id, id+9), span(1, id+10, id+20)}, 0},
		"of two workers":               {[]Span{span(1, id, id+9), span(2, id, id+9)}, 0},
		"one id in common":             {[]Span{span(1, id, id+10), span(1, id+10, id+20)}, 1},
		"the same id":                  {[]Span{span(1, id, id), span(1, id, id)}, 1},
		"within another":               {[]Span{span(1, id, id+99), span(1, id+50, id+50)}, 1},
		"behind one within another":    {[]Span{span(1, id, id+99), span(1, id+5, id+6), span(1, id+99, id+120)}, 2},
		"the first id of the next":     {[]Span{span(1, id+10, id+20), span(1, id, id+10)}, 1},
		"more ids than there are":      {[]Span{{1, id, id + 1, 3, "a process"}}, 1},
		"no id":                        {[]Span{{1, id, id + 1, 0, "a process"}}, 1},
		"the last worker's reach ends": {[]Span{span(1, id, id+99), span(2, id+50, id+60), span(2, id+61, id+70)}, 0},
	} {
		var c Checker
		for _, s := range tt.spans {
			c.Add(s)
		}
		if errs := c.Check(); len(errs) != tt.want {
			t.Errorf("%s: %d errors, want %d: %v", name, len(errs), tt.want, errs)
		}
	}
}

// One duplicate among a billion ids.
func TestCheckerFindsAPlantedDuplicate(t *testing.T) {
	for _, planted := range []bool{false, true} {
		var c Checker
		r := rand.New(rand.NewPCG(1, 2))
		next := make([]int64, 16) // the first id that is not used, of each worker
		for n := range 4000 {
			w := r.Int64N(16)
			first := next[w] + r.Int64N(2) // mostly without a gap
			count := 1 + r.Int64N(500_000)
			next[w] = first + count
			c.Add(Span{w, first, first + count - 1, count, "a process"})
			if planted && n == 3000 {
				c.Add(Span{w, next[w] - 1, next[w] - 1, 1, "another"})
			}
		}
		if _, ids := c.Total(); ids < 900_000_000 {
			t.Errorf("only %d ids", ids)
		}
		if errs := c.Check(); len(errs) > 1 || (len(errs) == 1) != planted {
			t.Errorf("planted %t: %v", planted, errs)
		}
	}
}
