package pgxid_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/snowkey-go/snowkey/hooks/pgxid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/internal/keytype"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// All connections of pgx must implement DB.
var _ = []pgxid.DB{(*pgx.Conn)(nil), pgx.Tx(nil), (*pgxpool.Pool)(nil), (*pgxpool.Conn)(nil), (*pgxpool.Tx)(nil)}

// copies copies three rows, one of which has a preset key, for each shape of key. It then
// compares memory with what is sent. Package matrix sends the types to a server.
func copies[K comparable](t *testing.T) {
	keyOf := func(id int64) K { return keytype.New(reflect.TypeFor[K](), id).Interface().(K) }
	preset := keyOf(high)
	// A row has its key both by value and behind a pointer.
	type row struct {
		id  K
		ref *K
	}
	for _, shape := range []struct {
		name    string
		cell    func(*row) any
		written func(row) *K // the key that is left in memory; nil if there is none
	}{
		{"pointer", func(r *row) any { return &r.id }, func(r row) *K { return &r.id }},
		{"value", func(r *row) any { return r.id }, nil},
		{"pointer to a pointer", func(r *row) any { return &r.ref }, func(r row) *K { return r.ref }},
		{"nil pointer", func(r *row) any { return r.ref }, nil},
	} {
		rows := []row{{}, {id: preset, ref: &preset}, {ref: new(keyOf(0))}}
		if reflect.TypeFor[K]().Kind() == reflect.String {
			rows[2].id = keyOf(0) // "0", which is what {"id":0} results in
		}
		if shape.name == "nil pointer" {
			rows[2].ref = nil
		}
		r := new(recorder)
		copier := pgxid.Copier{Source: new(idtest.Source), Key: "number"}
		dbtest.Must(copier.CopyFrom(t.Context(), r, pgx.Identifier{"t"}, []string{"label", "number"},
			pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) { return []any{"", shape.cell(&rows[i])}, nil })))(t)
		for i, want := range []K{keyOf(idtest.First), preset, keyOf(idtest.First + 1)} {
			if r.got[i][1] != any(want) {
				t.Errorf("%T, %s: row %d is sent with %v, want %v", preset, shape.name, i, r.got[i][1], want)
			}
			if shape.written == nil {
				continue
			}
			if id := shape.written(rows[i]); id == nil || *id != want {
				t.Errorf("%T, %s: row %d has %v in memory, want %v", preset, shape.name, i, id, want)
			}
		}
	}
}

type name string

func TestCopyFrom(t *testing.T) {
	copies[pk.ID](t)
	copies[pk.Of[user]](t)
	copies[pk.String](t)
	copies[pk.Text](t)
	copies[pk.SortText](t)
	copies[int64](t)
	copies[uint64](t)
	copies[int](t)
	copies[string](t)
	copies[name](t)
}

// The rows of pgx.CopyFromRows belong to the caller.
func TestCopyFromLeavesCells(t *testing.T) {
	rows, r := [][]any{{pk.ID(0)}, {nil}, {""}}, &recorder{}
	dbtest.Must(pgxid.Copier{Source: new(idtest.Source)}.CopyFrom(t.Context(), r, pgx.Identifier{"t"}, []string{"id"}, pgx.CopyFromRows(rows)))(t)
	if want := [][]any{{pk.ID(0)}, {nil}, {""}}; !reflect.DeepEqual(rows, want) {
		t.Errorf("the rows are %v", rows)
	}
	if want := [][]any{{pk.ID(idtest.First)}, {int64(idtest.First + 1)}, {decimal(idtest.First + 2)}}; !reflect.DeepEqual(r.got, want) {
		t.Errorf("copied %v, want %v", r.got, want)
	}
}

// If the source fails during a copy, CopyFrom must return its error and leave the table
// empty, and it must be possible to copy the same rows again.
func TestCopyFromSourceFails(t *testing.T) {
	type row struct {
		id  pk.ID
		pad string
	}
	each(t, func(t *testing.T, conn *pgx.Conn) {
		exec(t, conn, "DROP TABLE IF EXISTS t")
		exec(t, conn, "CREATE TABLE t (id bigint PRIMARY KEY, pad text)")
		for _, fail := range []int{1, 2, 8} {
			rows := make([]row, 500)
			for i := range rows {
				rows[i].pad = strings.Repeat("x", 2000) // large enough for the server to see some rows before the error
			}
			list := func() pgx.CopyFromSource {
				return pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) { return []any{&rows[i].id, rows[i].pad}, nil })
			}
			exec(t, conn, "TRUNCATE t")
			source := &idtest.Source{FailAt: fail, Err: errors.New("no ids today")}
			copier := pgxid.Copier{Source: source}
			n, err := copier.CopyFrom(t.Context(), conn, pgx.Identifier{"public", "t"}, []string{"id", "pad"}, list())
			filled := slices.IndexFunc(rows, func(r row) bool { return r.id == 0 })
			idtest.WantRowError(t, err, filled, "")
			if n != 0 || !errors.Is(err, source.Err) || !strings.Contains(err.Error(), "of public.t ") {
				t.Errorf("call %d fails: %d rows, %v", fail, n, err)
			}
			if n := all[int](t, conn, "SELECT count(*) FROM t")[0]; n != 0 {
				t.Errorf("call %d fails: %d rows are in the table", fail, n)
			}

			first := rows[0].id
			if n, err := copier.CopyFrom(t.Context(), conn, pgx.Identifier{"t"}, []string{"id", "pad"}, list()); n != 500 || err != nil {
				t.Fatalf("again: %d rows, %v", n, err)
			}
			if filled > 0 && rows[0].id != first {
				t.Errorf("a row that was filled has changed its key")
			}
			var want []int64
			for _, r := range rows {
				want = append(want, r.id.Int64())
			}
			if got := all[int64](t, conn, "SELECT id FROM t ORDER BY id"); !slices.Equal(got, want) {
				t.Errorf("after %d, the table does not hold the keys in memory", fail)
			}
		}
	})
}

// An error from the caller's rows must be returned unchanged, and so must those of the
// database and of pgx.
func TestCopyFromRowsFail(t *testing.T) {
	conn := connect(t, reuse.Open(t, "postgres"), pgx.QueryExecModeCacheStatement)
	exec(t, conn, "CREATE TABLE t (id bigint PRIMARY KEY)")
	failing := func(call int) ([]any, error) {
		if call == 2 {
			return nil, io.ErrUnexpectedEOF
		}
		return []any{nil}, nil
	}
	calls := 0
	for name, rows := range map[string]pgx.CopyFromSource{
		"Values":    pgx.CopyFromSlice(3, func(i int) ([]any, error) { return failing(i + 1) }),
		"Next":      pgx.CopyFromFunc(func() ([]any, error) { calls++; return failing(calls) }),
		"duplicate": pgx.CopyFromRows([][]any{{int64(1)}, {int64(1)}}),
		"too many":  pgx.CopyFromRows([][]any{{nil, nil}}),
		"too few":   pgx.CopyFromRows([][]any{{}}),
	} {
		n, err := pgxid.Copier{Source: new(idtest.Source)}.CopyFrom(t.Context(), conn, pgx.Identifier{"t"}, []string{"id"}, rows)
		state, known := errors.AsType[interface {
			error
			SQLState() string
		}](err)
		if name == "duplicate" {
			known = known && state.SQLState() == "23505"
		}
		if n != 0 || err != io.ErrUnexpectedEOF && !known {
			t.Errorf("%s: %d rows, %v", name, n, err)
		}
		if n := all[int](t, conn, "SELECT count(*) FROM t")[0]; n != 0 {
			t.Errorf("%s: %d rows are in the table", name, n)
		}
	}
}

func TestCopyFromRefuses(t *testing.T) {
	type narrow int32
	for _, c := range []struct {
		name    string
		columns []string
		rows    pgx.CopyFromSource
		row     int
		problem string
	}{
		{"no key column", []string{"name"}, pgx.CopyFromRows(nil), -1, `is copied without its key column "id"`},
		{"no rows", []string{"id"}, nil, -1, "has no source of rows"},
		{"int32", []string{"id"}, pgx.CopyFromRows([][]any{{nil}, {int32(0)}}), 1, "has int32 as the type of its key id"},
		{"*narrow", []string{"id"}, pgx.CopyFromRows([][]any{{new(narrow)}}), 0, "has *pgxid_test.narrow as the type of its key id"},
		{"preset narrow", []string{"id"}, pgx.CopyFromRows([][]any{{narrow(7)}}), 0, "has pgxid_test.narrow as the type of its key id"},
		{"float64", []string{"id"}, pgx.CopyFromRows([][]any{{0.5}}), 0, "has float64 as the type of its key id"},
		{"bytes", []string{"id"}, pgx.CopyFromRows([][]any{{[]byte(nil)}}), 0, "has []uint8 as the type of its key id"},
		{"deep", []string{"id"}, pgx.CopyFromRows([][]any{{new(new(new(pk.ID)))}}), 0, "has ***pk.ID as the type of its key id"},
		{"deep nil", []string{"id"}, pgx.CopyFromRows([][]any{{(**pk.ID)(nil)}}), 0, "has **pk.ID as the type of its key id"},
	} {
		_, err := pgxid.Copier{Source: new(idtest.Source)}.CopyFrom(t.Context(), &recorder{}, pgx.Identifier{"t"}, c.columns, c.rows)
		t.Run(c.name, func(t *testing.T) { idtest.WantRowError(t, err, c.row, c.problem) })
	}
}

// A recorder reads rows as pgx does, but doesn't need a server.
type recorder struct{ got [][]any }

func (r *recorder) CopyFrom(_ context.Context, _ pgx.Identifier, _ []string, rows pgx.CopyFromSource) (int64, error) {
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return 0, err
		}
		var now []any
		for _, v := range values {
			for p := reflect.ValueOf(v); p.Kind() == reflect.Pointer; p = p.Elem() {
				v = p.Elem().Interface()
			}
			now = append(now, v)
		}
		r.got = append(r.got, now)
	}
	return int64(len(r.got)), rows.Err()
}

// No matter which rows are preset, all others must get ascending keys. Keys may be
// drawn ahead, but only within the documented limits.
func TestCopyFromBatches(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		ids := make([]pk.ID, random.IntN(1<<random.IntN(14)))
		given := make([]pk.ID, len(ids))
		empty := 0
		for i := range ids {
			if random.IntN(3) == 0 {
				ids[i] = pk.ID(1 + random.Int64N(low))
			} else {
				empty++
			}
			given[i] = ids[i]
		}
		source, r := new(idtest.Source), &recorder{}
		dbtest.Must((pgxid.Copier{Source: source}).CopyFrom(t.Context(), r, nil, []string{"i", "id"},
			pgx.CopyFromSlice(len(ids), func(i int) ([]any, error) { return []any{i, &ids[i]}, nil })))(t)

		next := int64(idtest.First - 1)
		for i := range ids {
			want := given[i]
			if want == 0 {
				next++
				want = pk.ID(next)
			}
			if ids[i] != want || r.got[i][1] != any(want) {
				t.Fatalf("row %d of %d: %d was sent, %d is in memory, want %d", i, len(ids), r.got[i][1], ids[i], want)
			}
		}
		drawn := 0
		for i, n := range source.Asked {
			if n > max(1, drawn) || n > 1024 {
				t.Fatalf("draw %d asks for %d keys after %d", i, n, drawn)
			}
			drawn += n
		}
		if drawn > max(2*empty, 1) || drawn < empty || drawn-empty > 1024 {
			t.Fatalf("%d keys drawn for %d rows", drawn, empty)
		}
		if limit := 12 + empty/1024; len(source.Asked) > limit {
			t.Fatalf("%d draws for %d rows", len(source.Asked), empty)
		}
	}
}

// If the layout has a short sequence, there is a limit to the ids that one step can
// return. The batches must adapt to this.
func TestCopyFromShortSequence(t *testing.T) {
	source := &limited{Source: new(idtest.Source), most: 16}
	r := &recorder{}
	n, err := pgxid.Copier{Source: source}.CopyFrom(t.Context(), r, nil, []string{"id"},
		pgx.CopyFromSlice(100, func(int) ([]any, error) { return []any{nil}, nil }))
	if n != 100 || err != nil {
		t.Fatalf("%d rows, %v", n, err)
	}
	if got := r.got[99][0]; got != any(int64(idtest.First+99)) {
		t.Errorf("the last key is %v", got)
	}
	if source.refused != 1 {
		t.Errorf("asked for too much %d times", source.refused)
	}
}

type limited struct {
	*idtest.Source
	most    int
	refused int
}

func (l *limited) Append(ctx context.Context, dst []int64, n int) ([]int64, error) {
	if n > l.most {
		l.refused++
		return dst, &idgen.CountError{Count: int64(n), Max: int64(l.most)}
	}
	return l.Source.Append(ctx, dst, n)
}

// While CopyFrom waits for keys, the call's context must be able to end the wait.
func TestCopyFromContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := pgxid.Copier{Source: new(idtest.Waiting)}.CopyFrom(ctx, &recorder{}, pgx.Identifier{"t"}, []string{"id"}, pgx.CopyFromRows([][]any{{nil}}))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
