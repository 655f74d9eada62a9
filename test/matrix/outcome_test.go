package matrix

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/hooks/sqlid"
)

// generatedError is in the module test, as the errors are that ent generates.
type generatedError struct{}

func (*generatedError) Error() string { return "constraint failed" }

// TestOutcome plants one fault at a time in the result of a way. It also plants similar
// changes that are allowed.
func TestOutcome(t *testing.T) {
	s := newSource()
	ids, err := s.Append(t.Context(), nil, 7)
	if err != nil {
		t.Fatal(err)
	}
	ours := fmt.Errorf("around it: %w", &sqlid.RowError{Package: "sqlid"})
	// edit changes the copy of an item.
	edit := func(items *[]item, name string, change func(*item)) {
		*items = slices.Clone(*items)
		i := slices.IndexFunc(*items, func(i item) bool { return i.name == name })
		change(&(*items)[i])
	}
	remove := func(items *[]item, name string) {
		*items = slices.DeleteFunc(slices.Clone(*items), func(i item) bool { return i.name == name })
	}
	swap := func(items *[]item, a, b string) {
		keyA, keyB := byName(*items)[a].key, byName(*items)[b].key
		edit(items, a, func(i *item) { i.key = keyB })
		edit(items, b, func(i *item) { i.key = keyA })
	}
	for _, c := range []struct {
		kind  kind
		fault string
		plant func(*attempt)
		want  string // an outcome, or a part of the error
	}{
		{slice, "none", func(*attempt) {}, agrees},
		{slice, "memory is not told", func(a *attempt) { a.memory = nil }, stored},
		{slice, "memory is off by one", func(a *attempt) { edit(&a.memory, "a", func(i *item) { i.key++ }) }, "in memory and"},
		{slice, "memory has no key", func(a *attempt) { edit(&a.memory, "a", func(i *item) { i.key = 0 }) }, "in memory and"},
		{slice, "memory has mixed two up", func(a *attempt) { swap(&a.memory, "a", "b") }, "in memory and"},
		{slice, "memory has lost a row", func(a *attempt) { remove(&a.memory, "c") }, "has lost c"},
		{slice, "memory has all lost", func(a *attempt) { a.memory = []item{} }, "has lost a"},
		{slice, "memory has a row more", func(a *attempt) { a.memory = append(a.memory, item{name: "x"}) }, "nobody created"},
		{slice, "memory has a row twice", func(a *attempt) { a.memory = append(a.memory, a.memory[0]) }, "twice"},
		{slice, "the table is off by one", func(a *attempt) { edit(&a.after, "b", func(i *item) { i.key++ }) }, "not from the source"},
		{slice, "the table has the key 0", func(a *attempt) { edit(&a.after, "b", func(i *item) { i.key = 0 }) }, "not from the source"},
		{slice, "the table lacks a row", func(a *attempt) { remove(&a.after, "e") }, "is not in the table"},
		{slice, "the table has a row more", func(a *attempt) { a.after = append(a.after, item{name: "x"}) }, "holds 6 rows, want 5"},
		{slice, "another column is wrong", func(a *attempt) { edit(&a.after, "e", func(i *item) { i.n = 7 }) }, "want {name:e"},
		{slice, "not in order", func(a *attempt) { swap(&a.after, "a", "b"); swap(&a.memory, "a", "b") }, "comes after"},
		{slice, "refused", func(a *attempt) { a.err, a.after = ours, nil; a.memory = a.items }, "refused: `*sqlid.RowError`"},
		{slice, "refused, some filled", func(a *attempt) { a.err, a.after = ours, nil }, "refused: `*sqlid.RowError`"},
		{slice, "refused and written", func(a *attempt) { a.err = ours }, "in the table instead of"},
		{slice, "refused and filled with something else", func(a *attempt) {
			a.err, a.after = ours, nil
			edit(&a.memory, "a", func(i *item) { i.key = 7 })
		}, "made the key 0 of a 7"},
		{slice, "an error of somebody else", func(a *attempt) { a.err, a.after = errors.ErrUnsupported, nil }, "no type of Snowkey"},
		{slice, "an error of generated code", func(a *attempt) { a.err, a.after = &generatedError{}, nil }, "no type of Snowkey"},
		{slice, "the source's error", func(a *attempt) { a.err, a.after = errSource, nil }, "unasked"},

		{graph, "none", func(*attempt) {}, agrees},
		{graph, "children before parents", func(a *attempt) { swap(&a.after, "a", "c1"); swap(&a.memory, "a", "c1") }, "comes after"},
		{graph, "another's child", func(a *attempt) { edit(&a.after, "a1", func(i *item) { i.parent = "b" }) }, "want {name:a1"},
		{graph, "nobody's child", func(a *attempt) { edit(&a.after, "a1", func(i *item) { i.parent = "" }) }, "want {name:a1"},

		{upsert, "none", func(*attempt) {}, agrees},
		{upsert, "not updated", func(a *attempt) { edit(&a.after, "b", func(i *item) { i.n = 1 }) }, "want {name:b"},
		{upsert, "the row in the table has a new key", func(a *attempt) { edit(&a.after, "b", func(i *item) { i.key = ids[6] }) }, "the key of b was"},
		{upsert, "memory has the key that was proposed", func(a *attempt) { edit(&a.memory, "b", func(i *item) { i.key = ids[6] }) }, "in memory and"},
		{upsert, "memory has no key", func(a *attempt) { edit(&a.memory, "b", func(i *item) { i.key = 0 }) }, "in memory and"},
		{upsert, "refused", func(a *attempt) { a.err, a.memory, a.after = ours, nil, a.before }, "refused: `*sqlid.RowError`"},
		{upsert, "refused and updated", func(a *attempt) {
			a.err, a.memory, a.after = ours, nil, a.before
			edit(&a.after, "b", func(i *item) { i.n = 2 })
		}, "in the table instead of"},

		{ignore, "none", func(*attempt) {}, agrees},
		{ignore, "memory says which row was left out", func(a *attempt) { edit(&a.memory, "b", func(i *item) { i.key = 0 }) }, agrees},
		{ignore, "memory is without it", func(a *attempt) { remove(&a.memory, "b") }, agrees},
		{ignore, "memory has the key that was proposed", func(a *attempt) { edit(&a.memory, "b", func(i *item) { i.key = ids[6] }) }, "in memory and"},
		{ignore, "updated", func(a *attempt) { edit(&a.after, "b", func(i *item) { i.n = 2 }) }, "want {name:b"},

		{preset, "none", func(*attempt) {}, agrees},
		{preset, "replaced", func(a *attempt) {
			edit(&a.after, "b", func(i *item) { i.key = ids[6] })
			edit(&a.memory, "b", func(i *item) { i.key = ids[6] })
		}, "the key of b was"},
		{preset, "refused, and the preset gone", func(a *attempt) {
			a.err, a.after = ours, nil
			edit(&a.memory, "b", func(i *item) { i.key = 0 })
		}, "made the key"},

		{failure, "none", func(a *attempt) { a.err, a.after = errors.Join(ours, errSource), nil }, "refused: `*sqlid.RowError`"},
		{failure, "no error", func(*attempt) {}, "the call did not"},
		{failure, "another error", func(a *attempt) { a.err, a.after = ours, nil }, "is not in the chain"},
		{failure, "written", func(a *attempt) { a.err = errSource }, "in the table instead of"},
	} {
		// The result of a correct way.
		a := attempt{scenario: scenarios[c.kind], issued: s.issued}
		existed := byName(a.before)
		for i, row := range a.items {
			if row.key == 0 {
				row.key = ids[i]
			}
			if old, ok := existed[row.name]; ok {
				row.key = old.key
				if !a.updates {
					row.n = old.n
				}
			}
			a.after, a.memory = append(a.after, row), append(a.memory, row)
		}
		c.plant(&a)
		got, err := a.outcome()
		if err != nil {
			got = err.Error()
		}
		if (err != nil) != !isOutcome(c.want) || !strings.Contains(got, c.want) {
			t.Errorf("%s, %s: %q, want %q", c.kind, c.fault, got, c.want)
		}
	}
}

func isOutcome(s string) bool {
	return s == agrees || s == stored || strings.HasPrefix(s, "refused: ")
}

// After a rollback the table is empty, and the rows have keys.
func TestRolledBack(t *testing.T) {
	s := newSource()
	row := item{name: "a"}
	filled := item{name: "a", key: firstID}
	if _, err := s.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after, memory []item
		err           error
		ok            bool
	}{
		{nil, []item{filled}, nil, true},
		{nil, []item{row}, nil, false},
		{nil, nil, nil, false},
		{[]item{filled}, []item{filled}, nil, false},
		{nil, []item{filled}, errSource, false},
	} {
		a := attempt{scenario: scenario{items: []item{row}}, issued: s.issued, memory: c.memory, err: c.err, after: c.after}
		if err := a.leftNothing(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// The source gives pairs, and knows them from all other numbers.
func TestSource(t *testing.T) {
	s := newSource()
	s.left = 4
	ids, err := s.Append(t.Context(), nil, 4)
	if want := []int64{firstID, firstID + 1, firstID + 1000, firstID + 1001}; err != nil || !slices.Equal(ids, want) {
		t.Errorf("%v, %v", ids, err)
	}
	if float64(ids[0]) != float64(ids[1]) {
		t.Error("a float64 can tell the ids apart")
	}
	for _, id := range ids {
		if !s.issued(id) {
			t.Errorf("%d was issued", id)
		}
	}
	for _, id := range []int64{0, -1, 7, firstID - 1, firstID + 2, firstID + 999, firstID + 2000, presetLow} {
		if s.issued(id) {
			t.Errorf("%d was not issued", id)
		}
	}
	if _, err := s.Next(t.Context()); !errors.Is(err, errSource) {
		t.Errorf("the fifth: %v", err)
	}
}

// Every integration has every kind, in the order of the page, and its benches have the
// same ways.
func TestEveryKind(t *testing.T) {
	for _, in := range integrations {
		var want []line
		for key, b := range in.benches {
			var got []line
			var met []kind
			for _, w := range b.ways() {
				got = append(got, in.line(w))
				met = append(met, w.kind)
				if (w.create == nil) != (w.call == "") || (w.create == nil) != (w.without != "") {
					t.Errorf("%s: %+v has not either a call or a reason", in.name, w)
				}
			}
			if !slices.Equal(slices.Compact(met), kinds) {
				t.Errorf("%s with %s has the kinds %q, want %q", in.name, key, met, kinds)
			}
			if want == nil {
				want = got
			} else if !slices.Equal(got, want) {
				t.Errorf("%s with %s has the ways %q, unlike %q", in.name, key, got, want)
			}
		}
		if (len(in.benches) < len(keyTypes)) != (in.without != "") {
			t.Errorf("%s has %d of %d types of key; why: %q", in.name, len(in.benches), len(keyTypes), in.without)
		}
	}
	for _, k := range kinds {
		if len(scenarios[k].items) == 0 {
			t.Errorf("%s creates nothing", k)
		}
	}
}

// A cell is one outcome or a list, and says what did not run.
func TestCell(t *testing.T) {
	in := integration{name: "x", benches: map[keyType]bench{idKey: &sqlBench[int64]{}, textKey: &sqlBench[int64]{}, int64Key: &sqlBench[int64]{}}}
	w := way{kind: one, call: "y", create: func(context.Context, []item) ([]item, error) { return nil, nil }}
	for _, c := range []struct {
		outcomes map[keyType]string
		want     string
	}{
		{map[keyType]string{idKey: agrees, textKey: agrees, int64Key: agrees}, "all ✓"},
		{map[keyType]string{idKey: agrees, textKey: stored, int64Key: agrees}, "pk.ID, int64 ✓; pk.Text stored"},
		{map[keyType]string{idKey: agrees, sortKey: agrees}, "pk.ID ✓; pk.Text, int64 not run"},
		{nil, "not run"},
	} {
		r := &results{outcomes: map[line]map[keyType]string{in.line(w): c.outcomes}}
		if got := in.cell(w, r); got != c.want {
			t.Errorf("%v: %q, want %q", c.outcomes, got, c.want)
		}
	}
	if got := in.cell(none(one, "none"), &results{}); got != "–" {
		t.Errorf("no such way: %q", got)
	}
}
