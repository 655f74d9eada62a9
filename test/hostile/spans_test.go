package hostile

import (
	"cmp"
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

// judge counts ids. If an id was issued n times, that makes n-1 duplicates. first describes
// the first two spans that overlap.
func judge(spans []span) (ids, duplicates int64, first string) {
	spans = slices.SortedFunc(slices.Values(spans), func(a, b span) int { return cmp.Compare(a.first, b.first) })
	reached := span{last: -1} // of the spans so far, the one that reaches furthest
	for _, s := range spans {
		ids += s.count()
		if s.first <= reached.last {
			duplicates += min(s.last, reached.last) - s.first + 1
			first = cmp.Or(first, fmt.Sprintf("%s issued %d to %d, %s issued %d to %d",
				reached.program, reached.first, reached.last, s.program, s.first, s.last))
		}
		if s.last > reached.last {
			reached = s
		}
	}
	return ids, duplicates, first
}

func TestJudgeCountsDuplicates(t *testing.T) {
	for _, tc := range []struct {
		spans           []span
		ids, duplicates int64
		first           string
	}{
		{},
		{[]span{{10, 19, "a"}, {0, 9, "b"}}, 20, 0, ""},
		{[]span{{0, 9, "a"}, {9, 18, "b"}}, 20, 1, "a issued 0 to 9, b issued 9 to 18"},
		{[]span{{0, 99, "a"}, {10, 19, "b"}, {90, 109, "b"}}, 130, 20, "a issued 0 to 99, b issued 10 to 19"},
		{[]span{{5, 5, "a"}, {5, 5, "a"}, {5, 5, "b"}}, 3, 2, "a issued 5 to 5, a issued 5 to 5"},
	} {
		if ids, duplicates, first := judge(tc.spans); ids != tc.ids || duplicates != tc.duplicates || first != tc.first {
			t.Errorf("%v: %d ids, %d duplicates, %s", tc.spans, ids, duplicates, first)
		}
	}
	ids := []int64{1, 2, 3, 7, 8, 3}
	if got, want := extend(nil, "a", ids), []span{{1, 3, "a"}, {7, 8, "a"}, {3, 3, "a"}}; !slices.Equal(got, want) {
		t.Errorf("spans of %v: %v, want %v", ids, got, want)
	}
}
