package pgxid

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/fill"
	"github.com/snowkey-go/snowkey/internal/keytype"
)

// DB is anything that can copy rows: a [*pgx.Conn], a [pgx.Tx], a *pgxpool.Pool or a
// *pgxpool.Conn.
type DB interface {
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error)
}

// CopyFrom is like db.CopyFrom but fills keys on the way. It uses a zero [Copier], which
// means that the key column is "id" and keys come from [idgen.Default].
func CopyFrom(ctx context.Context, db DB, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	return Copier{}.CopyFrom(ctx, db, table, columns, rows)
}

// Copier copies rows into tables, filling their keys on the way. The zero value is ready to
// use. A Copier is safe for concurrent use.
type Copier struct {
	// Source generates the keys. Defaults to idgen.Default(), looked up on each CopyFrom.
	Source idgen.Source

	// Key is the column to fill. Defaults to "id".
	Key string
}

// CopyFrom is like db.CopyFrom but fills keys on the way. columns must include the key
// column, whose value for each row can be one of these:
//
//	&user.ID   a pointer to a key      a zero is replaced where the pointer points to
//	user.ID    a key by value          a zero is replaced only in what is sent
//	nil                                is replaced by an int64
//
// Keys can have any type from package pk, or be a 64-bit integer, decimal text, or a named
// type based on these. &user.ID works even if the field is a pointer itself. Non-zero keys
// are kept.
//
// Keys are in row order. They're generated ahead of time in batches that start small: a
// batch is never larger than the number of keys used so far, up to 1,024. This means that a
// million rows take constant memory and about a thousand calls to the source.
//
// If the source fails, the error is a [*RowError] wrapping the source's. An error from rows
// is returned exactly as it is, unlike in pgx, where it would only show up as text inside an
// error from the server. Nothing is copied in either case, and it's safe to try again
// because rows that have already received a key will keep it.
func (c Copier) CopyFrom(ctx context.Context, db DB, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	key := cmp.Or(c.Key, "id")
	f := &filling{CopyFromSource: rows, ctx: ctx, source: c.Source, column: key, row: -1, most: maxBatch,
		errors: fill.Key{Package: "pgxid", Model: strings.Join(table, ".")}}
	if f.source == nil {
		f.source = idgen.Default()
	}
	if f.key = slices.Index(columns, key); f.key < 0 {
		return 0, f.errors.Refuse(f.row, nil, fmt.Sprintf("is copied without its key column %q", key),
			"list it among the columns, or set Copier.Key to its name")
	}
	if rows == nil {
		return 0, f.errors.Refuse(f.row, nil, "has no source of rows", "pass one, such as pgx.CopyFromSlice")
	}
	n, err := db.CopyFrom(ctx, table, columns, f)
	return n, cmp.Or(f.err, err)
}

// A RowError reports why CopyFrom couldn't give a key to a row. Nothing has been copied.
//
// Package is "pgxid". Model is the table name, with dots between its parts. Row is the index
// of the row in the source, or -1 if the error concerns the call as a whole. Problem and
// Remedy describe what's wrong and how to fix it. Err is the underlying error, if any.
type RowError = fill.RowError

// maxBatch limits the number of keys generated at once. Larger batches wouldn't make the
// call any faster, but a failed copy would leave larger gaps.
const maxBatch = 1024

// A filling returns the rows of one call with their keys filled. Like every CopyFromSource,
// it's used by a single goroutine, and never after the call.
type filling struct {
	pgx.CopyFromSource // the caller's rows

	ctx    context.Context // the call's
	source idgen.Source
	errors fill.Key
	column string
	key    int // its place among the columns

	row   int     // the current one, from 0
	drawn int     // the number of keys generated so far
	most  int     // the number of keys that the source can return at once
	ids   []int64 // generated but not used yet
	cells []any   // the current row, if it differs from the caller's
	err   error   // the first error, because pgx keeps only its text
}

func (f *filling) Next() bool {
	f.row++
	return f.CopyFromSource.Next()
}

func (f *filling) Err() error {
	f.err = cmp.Or(f.err, f.CopyFromSource.Err())
	return f.err
}

func (f *filling) Values() ([]any, error) {
	cells, err := f.CopyFromSource.Values()
	if err == nil && f.key < len(cells) { // otherwise pgx reports the wrong number of cells
		cells, err = f.fill(cells)
	}
	f.err = cmp.Or(f.err, err)
	return cells, err
}

// fill returns the row with its key. It must not write to cells, because they belong to the
// caller. If the key is a pointer, however, fill sets the value it points to.
func (f *filling) fill(cells []any) ([]any, error) {
	cell := cells[f.key]
	if cell == nil {
		cell = int64(0)
	}
	v := reflect.ValueOf(cell)
	to := v // the value that holds the key
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		to = v.Elem()
	}
	t := to.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if !keytype.Holds(t) {
		return nil, f.errors.Refuse(f.row, nil, fmt.Sprintf("has %T as the type of its key %s", cells[f.key], f.column),
			"give a pk.ID, int64, uint64 or string, or a pointer to one")
	}
	if !keytype.Empty(to) {
		return cells, nil
	}

	id, err := f.next()
	if err != nil {
		return nil, err
	}
	if to.CanSet() {
		keytype.Set(to, id)
		return cells, nil
	}
	f.cells = append(f.cells[:0], cells...)
	f.cells[f.key] = keytype.New(to.Type(), id).Interface()
	return f.cells, nil
}

// next returns the next key.
func (f *filling) next() (int64, error) {
	if len(f.ids) == 0 {
		n := min(max(f.drawn, 1), f.most)
		ids, err := fill.Take(f.ctx, f.source, n)
		if e, ok := errors.AsType[*idgen.CountError](err); ok && 0 < e.Max && e.Max < int64(n) {
			f.most = int(e.Max) // the sequence of the layout is too short for n ids
			return f.next()
		}
		if err != nil {
			return 0, f.errors.Refuse(f.row, err, fmt.Sprintf("got no key: %v", err), "nothing was copied")
		}
		f.drawn, f.ids = f.drawn+n, ids
	}
	id := f.ids[0]
	f.ids = f.ids[1:]
	return id, nil
}
