// Package fill contains code shared by the integrations. It draws the ids for the rows in
// a call from their source, and defines the errors returned for models and rows.
package fill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/snowkey-go/snowkey/idgen"
)

// A Key describes a model's key. The names are only used in errors, and Generator is used by
// Draw.
type Key struct {
	Package string // the integration
	Model   string
	Field   string
	Type    string

	// Generator is the name of the pool's generator that the ids come from. If it's
	// empty, they come from the source itself.
	Generator string
}

// Fault returns a [*FieldError].
func (k Key) Fault(problem, remedy string) error {
	return &FieldError{Package: k.Package, Model: k.Model, Field: k.Field, Type: k.Type, Problem: problem, Remedy: remedy}
}

// Embedded returns the [*FieldError] for a key that is an embedded field. The struct would
// then get the methods of the key, so JSON and SQL would treat all of it as the key.
func (k Key) Embedded() error {
	return k.Fault("is embedded, so that JSON has the key in the place of the whole struct", "give it a name: "+k.Field+" "+k.Type)
}

// Refuse returns a [*RowError] with the cause err, which may be nil. Set row to -1 if the
// error concerns all rows.
func (k Key) Refuse(row int, err error, problem, remedy string) error {
	return &RowError{Package: k.Package, Model: k.Model, Row: row, Problem: problem, Remedy: remedy, Err: err}
}

// Draw generates the ids for rows in a single step. They come from the generator of source
// that k names, or from source itself. If source is nil, it uses [idgen.Default]. If it's an
// [*idgen.Backfill], the ids have the times in the rows; see At.
func (k Key) Draw(ctx context.Context, source idgen.Source, rows []int, valueOf func(row int, field string) any) (ids []int64, err error) {
	if past, ok := source.(*idgen.Backfill); ok {
		return k.At(past, rows, valueOf)
	}
	if source, err = k.from(source); err != nil {
		return nil, err
	}
	if ids, err = Take(ctx, source, len(rows)); err != nil {
		some := "1 row"
		if len(rows) != 1 {
			some = fmt.Sprintf("%d rows", len(rows))
		}
		return nil, k.Refuse(-1, err, fmt.Sprintf("got no keys for %s: %v", some, err), "nothing was changed")
	}
	return ids, nil
}

// from returns the source that Draw uses.
func (k Key) from(source idgen.Source) (idgen.Source, error) {
	if source == nil {
		source = idgen.Default()
	}
	if c, ok := source.(interface {
		Of(name string) idgen.Source
	}); ok { // an *idgentest.Counter
		return c.Of(cmp.Or(k.Generator, k.Model)), nil
	}
	if k.Generator == "" {
		return source, nil
	}
	pool, ok := source.(interface{ Named(string) *idgen.Generator }) // also an *idgentest.Pool
	if !ok {
		return nil, k.Fault(fmt.Sprintf("names the generator %q, but its source is a %T, not a pool", k.Generator, source),
			"use an *idgen.Pool as the source, or remove the name from the tag")
	}
	return pool.Named(k.Generator), nil
}

// Take returns n ids from source. It returns an error if the source returns 0, or a different
// number of ids, because a row would then have no key or that of another row.
func Take(ctx context.Context, source idgen.Source, n int) (ids []int64, err error) {
	if n == 1 { // most sources do less for Next
		ids = make([]int64, 1)
		ids[0], err = source.Next(ctx)
	} else {
		ids, err = source.Append(ctx, nil, n)
	}
	switch {
	case err != nil:
		return nil, err
	case len(ids) != n:
		return nil, fmt.Errorf("the source returned %d ids instead of %d", len(ids), n)
	case slices.Contains(ids, 0):
		return nil, errors.New("the source returned 0")
	}
	return ids, nil
}
