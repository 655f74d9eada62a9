package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// A journal keeps events in one of the databases.
type journal interface {
	fmt.Stringer // what it is kept with

	// record adds an event.
	record(ctx context.Context, name string) error

	// between returns the events with keys from first to last.
	between(ctx context.Context, first, last pk.ID) ([]event, error)
}

// An event is a row of either database. When it happened, its key tells.
type event struct {
	key     pk.ID
	name    string
	journal journal
}

// during returns what happened from one time to another in all journals. The
// range of keys is the same everywhere, and it needs no column for the time.
func during(ctx context.Context, layout idgen.Layout, journals []journal, from, to time.Time) ([]event, error) {
	first, err := layout.MinID(from)
	if err != nil {
		return nil, err
	}
	last, err := layout.MaxID(to)
	if err != nil {
		return nil, err
	}
	return between(ctx, journals, pk.ID(first), pk.ID(last))
}

// between returns the events of all journals with keys from first to last. The
// order of their keys is the order in which they happened, across journals.
func between(ctx context.Context, journals []journal, first, last pk.ID) (events []event, err error) {
	for _, j := range journals {
		found, err := j.between(ctx, first, last)
		if err != nil {
			return nil, fmt.Errorf("searching in %v: %w", j, err)
		}
		events = append(events, found...)
	}
	slices.SortFunc(events, func(a, b event) int { return cmp.Compare(a.key, b.key) })
	return events, nil
}

// distinct fails if two events, sorted by their keys, have the same.
func distinct(events []event) error {
	for i := 1; i < len(events); i++ {
		if a, b := events[i-1], events[i]; a.key == b.key {
			return fmt.Errorf("%q in %v and %q in %v have the same key %v", a.name, a.journal, b.name, b.journal, a.key)
		}
	}
	return nil
}
