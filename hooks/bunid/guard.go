package bunid

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/snowkey-go/snowkey/internal/keytype"
)

// A guard checks each query before it's sent. By then it can't fill keys any more, because
// bun has already written the SQL.
type guard struct {
	verdicts sync.Map              // *schema.Table → verdict; a table lives as long as its database
	listed   map[reflect.Type]bool // the models that were passed to Use
}

// BeforeQuery implements [bun.QueryHook]. Although it can't return an error, bun hasn't used
// the connection of the query yet. We can therefore replace it by one that does nothing but
// return our error. Cancelling the context wouldn't be enough: database/sql checks it for a
// *sql.DB and a *sql.Tx but not for a *sql.Conn, and a driver may check it only after it has
// run the statement.
func (g *guard) BeforeQuery(ctx context.Context, event *bun.QueryEvent) context.Context {
	err := g.check(ctx, event)
	if err == nil {
		return ctx
	}
	// Each type of query has a method Conn, and so do the wrappers that bun uses for Count.
	conn := reflect.ValueOf(event.IQuery).MethodByName("Conn")
	conn.Call([]reflect.Value{reflect.ValueOf(refusal{err})})
	return ctx
}

// AfterQuery implements [bun.QueryHook] and does nothing.
func (*guard) AfterQuery(context.Context, *bun.QueryEvent) {}

func (g *guard) check(ctx context.Context, event *bun.QueryEvent) error {
	depth := 0 // of the first parentheses in which rows don't come from a model
	var row *map[string]any
	switch q := event.IQuery.(type) {
	case nil: // SQL by hand, and there's no query object that we could reject
		return nil
	case *bun.RawQuery: // SQL by hand too, unless the rows come from NewValues
		template, err := q.AppendQuery(schema.NewNopQueryGen(), nil)
		if err != nil || !strings.Contains(event.Query, "VALUES ") || bytes.Contains(template, []byte("VALUES ")) {
			return nil
		}
	case *bun.InsertQuery:
		switch model := q.GetModel().(type) {
		case bun.TableModel:
			if err := g.checkRows(ctx, event.DB, q, model); err != nil || strings.Count(event.Query, "INTO ") < 2 {
				return err
			}
			depth = 1
		case bun.Model:
			row, _ = model.Value().(*map[string]any)
		}
	default:
		if !strings.Contains(event.Query, "INTO ") { // bun writes keywords in capitals
			return nil
		}
	}
	for _, to := range targets(event.Query) {
		t := g.keyed(event.DB, to.table)
		switch {
		case t == nil || to.depth < depth:
		case row != nil:
			column := t.PKs[0].Name
			if v := reflect.ValueOf((*row)[column]); to.depth > 0 || !v.IsValid() || keytype.Empty(v) {
				return refuse(to.table, "would get a map without its key "+column+", because bun calls no hooks for maps",
					fmt.Sprintf("set m[%q] to a key from the pool, or insert a %s", column, modelName(t)))
			}
		case !isGiven(ctx):
			return unseen(t)
		}
	}
	return nil
}

// A refusal is the connection of a rejected query, and returns nothing but the error.
type refusal struct{ err error }

func (r refusal) ExecContext(context.Context, string, ...any) (sql.Result, error) { return nil, r.err }

func (r refusal) QueryContext(context.Context, string, ...any) (*sql.Rows, error) { return nil, r.err }

func (r refusal) QueryRowContext(ctx context.Context, query string, _ ...any) *sql.Row {
	db := sql.OpenDB(r) // only a *sql.DB makes a *sql.Row with an error
	defer db.Close()
	return db.QueryRowContext(ctx, query)
}

// Connect implements [driver.Connector].
func (r refusal) Connect(context.Context) (driver.Conn, error) { return nil, r.err }

// Driver implements [driver.Connector].
func (refusal) Driver() driver.Driver { return nil }

// checkRows returns an error if a row has no key.
func (g *guard) checkRows(ctx context.Context, db *bun.DB, q *bun.InsertQuery, model bun.TableModel) error {
	t := model.Table()
	v := g.verdictOn(db, t)
	if !v.filled && v.err != nil && !isGiven(ctx) {
		if s, err := statementOf(q); err == nil && s.query {
			return unseen(t)
		}
	}
	for _, f := range t.PKs {
		if !v.filled && v.err == nil && !keytype.IsPK(f.IndirectType) {
			continue // not filled by this package
		}
		k := newKey(f, t)
		rows, err := k.rowsOf(model.Value())
		if err != nil {
			return err
		}
		if len(rows.zero) == 0 || v.filled && proposed(q) {
			continue
		}
		i := rows.zero[0]
		switch {
		case v.filled:
			return k.Refuse(i, v.err, "has lost its key since it was filled", "do not set "+f.GoName+" to zero in BeforeAppendModel")
		case v.err != nil:
			return k.Refuse(i, v.err, "has no key: "+v.err.Error(), "or set it before")
		default:
			return k.Refuse(i, nil, "has no key, and "+f.GoName+" "+given(t), "set it")
		}
	}
	return nil
}

// proposed reports whether an INSERT may skip or merge rows, so that it sends keys that
// aren't in memory.
func proposed(q *bun.InsertQuery) bool {
	s, err := statementOf(q)
	return err == nil && s.conflict
}

// keyed returns the registered table with this name if its keys are, or should be, filled.
func (g *guard) keyed(db *bun.DB, name string) *schema.Table {
	for _, t := range db.Dialect().Tables().All() {
		if strings.EqualFold(t.Name[strings.LastIndexByte(t.Name, '.')+1:], name) {
			if v := g.verdictOn(db, t); len(t.PKs) == 1 && (v.filled || v.err != nil) {
				return t
			}
		}
	}
	return nil
}

func unseen(t *schema.Table) error {
	return refuse(modelName(t), "would get rows that bun calls no hooks for (INSERT … SELECT, MERGE, NewValues, an INSERT inside WITH)",
		"set their keys, for example with bunid.FillRows, and execute it with bunid.Given(ctx)")
}

type givenKey struct{}

// Given returns a context for statements whose rows already have their keys. Use it for
// INSERT … SELECT, MERGE, NewValues and INSERT inside WITH: these are rejected by default, as
// there's no way for us to see the keys in them.
//
//	err := bunid.FillRows(ctx, db, &users, nil)
//	…
//	_, err = db.NewMerge().With("data", db.NewValues(&users)).….Exec(bunid.Given(ctx))
func Given(ctx context.Context) context.Context { return context.WithValue(ctx, givenKey{}, true) }

func isGiven(ctx context.Context) bool { return ctx.Value(givenKey{}) != nil }
