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

// A journal stores events in one of the databases.
type journal interface {
	fmt.Stringer // names the ORM and the database

	// record adds an event.
	record(ctx context.Context, name string) error

	// between returns the events with keys from first to last.
	between(ctx context.Context, first, last pk.ID) ([]event, error)
}

// An event is a row of either database. Its key tells us when it happened.
type event struct {
	key     pk.ID
	name    string
	journal journal
}

// during returns the events of all journals between two times. We don't need a column
// for the time, because a range of time is a range of keys, and the same one in every
// journal.
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

// between returns the events of all journals with keys from first to last. They are
// sorted by key, which means that they are in the order in which they happened.
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

// distinct returns an error if two events have the same key. The events must be sorted.
func distinct(events []event) error {
	for i := 1; i < len(events); i++ {
		if a, b := events[i-1], events[i]; a.key == b.key {
			return fmt.Errorf("%q in %v and %q in %v have the same key %v", a.name, a.journal, b.name, b.journal, a.key)
		}
	}
	return nil
}
