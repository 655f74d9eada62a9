package bunid

import (
	"context"
	"errors"
	"reflect"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/feature"
	"github.com/uptrace/bun/schema"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/keytype"
)

// propose gives new keys to the rows of an INSERT that may skip or merge rows. The hooks of the
// model can see them. They are removed from memory while the INSERT is written, because
// RETURNING will tell us which keys are in the table.
func (r *rows) propose(ctx context.Context, q *bun.InsertQuery, source idgen.Source) error {
	const own = "set the keys, and query afterwards which rows are in the table"
	p := &proposal{key: r.key, model: q.GetModel()}
	q.Value(r.Name, "?", p) // bun then also returns the key, unless Returning says otherwise
	if !q.DB().HasFeature(feature.InsertReturning) {
		return refuse(r.Model, "may be skipped or merged, and this database does not return the keys", own)
	}
	s, err := statementOf(q)
	if err != nil {
		return err
	}
	switch {
	case r.list && !s.returnsAll():
		return refuse(r.Model, "may be skipped or merged row by row, and bun would assign keys to the wrong rows",
			`add Returning("*"), after which the slice has the rows of the table, or `+own)
	case !s.returns(r.Name):
		return refuse(r.Model, "may be skipped or merged, and its key is not returned", "name the key "+r.Name+" in Returning")
	}
	p.own = make([]reflect.Value, len(r.keys))
	ids, err := r.fill(ctx, source)
	for j, id := range ids {
		p.own[r.zero[j]] = keytype.New(r.IndirectType, id)
	}
	return err
}

// A proposal writes the keys of the rows into the SQL, in the order of the rows. Note that
// bun may write the query more than once.
type proposal struct {
	key   *key
	model bun.Model
	own   []reflect.Value // of the rows that had no key; none if the INSERT was rejected
	keys  []reflect.Value // of the rows, while they are written
	next  int             // the index of the next key
}

var errRefused = errors.New("bunid: the INSERT was refused, or its rows have changed; create a new one")

// AppendQuery implements [schema.QueryAppender].
func (p *proposal) AppendQuery(gen schema.QueryGen, b []byte) ([]byte, error) {
	if probe, ok := gen.Dialect().(probe); ok { // isOverwritten, when the query runs again
		return append(b, probe.sample...), nil
	}
	if p.next == 0 {
		rows, err := p.key.rowsOf(p.model.Value())
		if err != nil {
			return nil, err
		}
		p.keys = rows.keys
	}
	v, own := p.keys[p.next], reflect.Value{}
	if p.next < len(p.own) {
		own = p.own[p.next]
	}
	switch empty := keytype.Empty(v); {
	case own.IsValid() && (empty || v.Equal(own)): // it is empty if it was written before
		v.SetZero()
		v = own
	case empty:
		return nil, errRefused
	}
	p.next = (p.next + 1) % len(p.keys)
	return p.key.Append(gen, b, v), nil
}
