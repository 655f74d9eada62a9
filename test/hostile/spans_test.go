package hostile

import (
	"fmt"
	"slices"
	"testing"
)

// A span is a run of consecutive ids that were issued by one program.
type span struct {
	first, last int64
	program     string
}

func (s span) count() int64 { return s.last - s.first + 1 }

// extend adds ids to the spans of the program that has issued them, in this order.
func extend(spans []span, program string, ids []int64) []span {
	for _, id := range ids {
		if n := len(spans); n > 0 && spans[n-1].last+1 == id {
			spans[n-1].last = id
		} else {
			spans = append(spans, span{id, id, program})
		}
	}
	return spans
}

// A verdict counts ids. If an id was issued n times, that makes n-1 duplicates.
type verdict struct {
	ids, duplicates int64
	first           string // describes the first two spans that overlap
}

func judge(spans []span) verdict {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b span) int {
		switch {
		case a.first < b.first:
			return -1
		case a.first > b.first:
			return 1
		}
		return 0
	})
	var v verdict
	var reached span // of the spans so far, the one that reaches furthest
	for i, s := range spans {
		v.ids += s.count()
		if i > 0 && s.first <= reached.last {
			v.duplicates += min(s.last, reached.last) - s.first + 1
			if v.first == "" {
				v.first = fmt.Sprintf("%s issued %d to %d, %s issued %d to %d",
					reached.program, reached.first, reached.last, s.program, s.first, s.last)
			}
		}
		if i == 0 || s.last > reached.last {
			reached = s
		}
	}
	return v
}

func TestJudgeCountsDuplicates(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spans []span
		want  verdict
	}{
		{"none", nil, verdict{}},
		{"disjoint", []span{{10, 19, "a"}, {0, 9, "b"}}, verdict{ids: 20}},
		{"one id", []span{{0, 9, "a"}, {9, 18, "b"}}, verdict{ids: 20, duplicates: 1, first: "a issued 0 to 9, b issued 9 to 18"}},
		{"one span within another", []span{{0, 99, "a"}, {10, 19, "b"}, {90, 109, "b"}}, verdict{ids: 130, duplicates: 20, first: "a issued 0 to 99, b issued 10 to 19"}},
		{"three times", []span{{5, 5, "a"}, {5, 5, "a"}, {5, 5, "b"}}, verdict{ids: 3, duplicates: 2, first: "a issued 5 to 5, a issued 5 to 5"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := judge(tc.spans); got != tc.want {
				t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
			}
		})
	}
	ids := []int64{1, 2, 3, 7, 8, 3}
	if got, want := extend(nil, "a", ids), []span{{1, 3, "a"}, {7, 8, "a"}, {3, 3, "a"}}; !slices.Equal(got, want) {
		t.Errorf("spans of %v: %v, want %v", ids, got, want)
	}
}
