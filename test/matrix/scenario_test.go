package matrix

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/snowkey-go/snowkey/internal/fill"
)

// A kind groups ways of different integrations that can be compared with each other.
type kind string

const (
	one      kind = "one row"
	slice    kind = "slice in bulk"
	pointers kind = "slice of pointers"
	batches  kind = "batches"
	graph    kind = "graph"
	upsert   kind = "upsert with update"
	ignore   kind = "insert or ignore"
	raw      kind = "map, raw rows"
	preset   kind = "preset keys"
	rollback kind = "rolled back, then again"
	failure  kind = "generator error"
)

// batchSize is used by ways that create rows in batches.
const batchSize = 2

// An item is a row. It's identified by its name, regardless of its key.
type item struct {
	name   string
	key    int64 // 0 means that it has none
	n      int
	parent string // the name of another item; empty if it has no parent
}

// A scenario is the test for a kind of way. It's the same for all integrations.
type scenario struct {
	before []item // already in the table
	items  []item // to be created; items that have a key must keep it

	updates    bool // existing rows should get the new n
	rolledBack bool // roll back the transaction, and then create the rows once more
	fails      bool // make the source fail after three ids
}

// These keys are equal as float64, and weren't issued by the source.
const (
	presetLow  = 1<<53 + 1
	presetHigh = 1<<53 + 2
)

var (
	fresh    = []item{{name: "a", n: 2}, {name: "b", n: 2}, {name: "c", n: 2}, {name: "d", n: 2}, {name: "e", n: 2}}
	existing = []item{{name: "b", key: presetLow, n: 1}, {name: "e", key: presetHigh, n: 1}}
)

var scenarios = map[kind]scenario{
	one:      {items: fresh[:2]},
	slice:    {items: fresh},
	pointers: {items: fresh},
	batches:  {items: fresh},
	graph: {items: []item{{name: "a", n: 2}, {name: "b", n: 2}, {name: "c", n: 2},
		{name: "a1", n: 3, parent: "a"}, {name: "b1", n: 3, parent: "b"}, {name: "b2", n: 3, parent: "b"}, {name: "c1", n: 3, parent: "c"}}},
	upsert:   {before: existing, items: fresh, updates: true},
	ignore:   {before: existing, items: fresh},
	raw:      {items: fresh},
	preset:   {items: []item{{name: "a", n: 2}, {name: "b", key: presetHigh, n: 2}, {name: "c", n: 2}, {name: "d", key: presetLow, n: 2}}},
	rollback: {items: fresh, rolledBack: true},
	failure:  {items: fresh, fails: true},
}

// An attempt is what happened in a scenario.
type attempt struct {
	scenario
	issued func(key int64) bool // whether the source has issued the key

	memory []item // returned by create
	err    error
	after  []item // contents of the table
}

// These are the outcomes other than a refusal.
const (
	agrees = "✓"      // memory equals the table
	stored = "stored" // the table is correct, but the call returned no keys
)

// outcome returns the outcome of the scenario: either memory equals the table, or the
// call was refused and nothing was written. Anything else is an error.
func (a attempt) outcome() (string, error) {
	if a.err != nil {
		return a.refusal()
	}
	if a.fails {
		return "", errors.New("the source failed and the call did not")
	}
	table, err := a.checkTable()
	if err != nil {
		return "", err
	}
	if a.memory == nil {
		return stored, nil
	}
	left := byName(a.memory)
	if len(left) != len(a.memory) {
		return "", fmt.Errorf("memory holds a row twice: %v", a.memory)
	}
	for _, want := range a.items {
		row, told := left[want.name]
		delete(left, want.name)
		_, existed := byName(a.before)[want.name]
		switch {
		case existed && !a.updates && (!told || row.key == 0): // left out, as the result says
		case !told:
			return "", fmt.Errorf("memory has lost %s", want.name)
		case row.key != table[want.name].key:
			return "", fmt.Errorf("%s has the key %d in memory and %d in the table", want.name, row.key, table[want.name].key)
		}
	}
	if len(left) > 0 {
		return "", fmt.Errorf("memory holds rows that nobody created: %v", left)
	}
	return agrees, nil
}

// refusal returns the name of the error. It must be one of Snowkey's errors, and the
// table must be unchanged.
func (a attempt) refusal() (string, error) {
	name := typeOf(a.err)
	switch {
	case name == "":
		return "", fmt.Errorf("failed with an error that has no type of Snowkey: %w", a.err)
	case a.fails && !errors.Is(a.err, errSource):
		return "", fmt.Errorf("the source's error is not in the chain of: %w", a.err)
	case !a.fails && errors.Is(a.err, errSource):
		return "", fmt.Errorf("the source has failed unasked: %w", a.err)
	case !reflect.DeepEqual(byName(a.after), byName(a.before)):
		return "", fmt.Errorf("failed (%w) and left %v in the table instead of %v", a.err, a.after, a.before)
	}
	wanted := byName(a.items)
	for _, i := range a.memory {
		if want := wanted[i.name].key; i.key != want && (want != 0 || !a.issued(i.key)) {
			return "", fmt.Errorf("failed (%w) and made the key %d of %s %d", a.err, want, i.name, i.key)
		}
	}
	return "refused: `" + name + "`", nil
}

// checkTable returns the rows of the table, which must be those of the scenario. A key
// must either be the one that was given, or come from the source in the order of the
// rows. This order applies to parents and children separately.
func (a attempt) checkTable() (map[string]item, error) {
	table, before := byName(a.after), byName(a.before)
	last := make(map[bool]int64)
	for _, want := range a.items {
		row, ok := table[want.name]
		old, existed := before[want.name]
		if existed {
			want.key = old.key
			if !a.updates {
				want.n = old.n
			}
		}
		child := want.parent != ""
		switch {
		case !ok:
			return nil, fmt.Errorf("%s is not in the table", want.name)
		case row.n != want.n || row.parent != want.parent:
			return nil, fmt.Errorf("the table holds %+v, want %+v", row, want)
		case want.key != 0 && row.key != want.key:
			return nil, fmt.Errorf("the key of %s was %d and is %d in the table", want.name, want.key, row.key)
		case want.key == 0 && !a.issued(row.key):
			return nil, fmt.Errorf("the key %d of %s is not from the source", row.key, want.name)
		case want.key == 0 && row.key <= last[child]:
			return nil, fmt.Errorf("the key %d of %s comes after %d", row.key, want.name, last[child])
		case want.key == 0:
			last[child] = row.key
		}
	}
	if names := byName(append(slices.Clone(a.before), a.items...)); len(a.after) != len(names) {
		return nil, fmt.Errorf("the table holds %d rows, want %d: %v", len(a.after), len(names), a.after)
	}
	return table, nil
}

// leftNothing checks an attempt that was rolled back. The table must be empty, and the
// rows must have keys so that they can be created again.
func (a attempt) leftNothing() error {
	if a.err != nil {
		return fmt.Errorf("before it was rolled back: %w", a.err)
	}
	if len(a.after) > 0 {
		return fmt.Errorf("the rollback has left %v", a.after)
	}
	a.after = a.memory
	_, err := a.outcome()
	return err
}

func byName(items []item) map[string]item {
	m := make(map[string]item)
	for _, i := range items {
		m[i.name] = i
	}
	return m
}

// typeOf returns the type of Snowkey's error in an error's chain, such as
// "*gormid.RowError", or an empty string if there is none.
func typeOf(err error) string {
	if e, ok := errors.AsType[*fill.FieldError](err); ok {
		return "*" + e.Package + ".FieldError"
	}
	if e, ok := errors.AsType[*fill.RowError](err); ok {
		return "*" + e.Package + ".RowError"
	}
	return ""
}
