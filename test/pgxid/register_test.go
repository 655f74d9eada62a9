package pgxid_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey/hooks/pgxid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// A line of the table in README.md says in which modes pgx can send or read something without
// Register. After Register, it can in all.
type line struct {
	text             string
	described, blind bool
}

var (
	lineArgument  = line{"a key, a pointer to one, NULL", true, true}
	lineList      = line{"a slice or array of keys or of pointers, as in `= ANY($1)`", true, false}
	lineArray     = line{"`pgtype.FlatArray`, `pgtype.Array`, a pointer to a slice", true, false}
	lineBatch     = line{"a slice in a `pgx.Batch`", true, false}
	lineDomain    = line{"a slice for an array of a domain", false, false}
	lineComposite = line{"a key or slice in a composite", true, true}
	lineCopy      = line{"a key or slice in COPY", true, true}
	lineResult    = line{"results: a key, a pointer, NULL", true, true}
	lineResults   = line{"results: arrays (not of a domain), composites", true, true}
)

var lines = []line{lineArgument, lineList, lineArray, lineBatch, lineDomain, lineComposite, lineCopy, lineResult, lineResults}

// A cell is one way to use a key.
type cell struct {
	line line
	name string
	run  func(*testing.T, *pgx.Conn) error
}

// A key has the methods common to all types of package pk.
type key interface {
	comparable
	driver.Valuer
	fmt.Stringer
}

// cellsOf returns the cells for one type of key and one type of column. The table is
// empty when a cell starts.
func cellsOf[K key](column string, a, b K) []cell {
	var cells []cell
	add := func(line line, name string, run func(*testing.T, *pgx.Conn) error) {
		cells = append(cells, cell{line, fmt.Sprintf("%s %T: %s", column, a, name), func(t *testing.T, conn *pgx.Conn) error {
			exec(t, conn, "TRUNCATE "+table(column))
			return run(t, conn)
		}})
	}
	expand := strings.NewReplacer("TABLE", table(column), "COLUMN", column).Replace
	insert := func(t *testing.T, conn *pgx.Conn) error {
		_, err := conn.Exec(t.Context(), expand("INSERT INTO TABLE (label, id) VALUES ('low', $1), ('high', $2), ('null', $3)"), a, &b, (*K)(nil))
		return err
	}
	// stored returns an error unless the server has these keys in the table.
	stored := func(t *testing.T, conn *pgx.Conn, want string) error {
		return reads(t, conn, want, expand(`SELECT coalesce(string_agg(label || '=' || coalesce(id::text, 'NULL') || coalesce(' ' || ids::text, ''), ' '
			ORDER BY id), '') FROM TABLE`))
	}
	// sent returns an error unless the server sees want in an argument.
	sent := func(t *testing.T, conn *pgx.Conn, arg any, want string) error {
		return reads(t, conn, want, expand("SELECT coalesce(($1::COLUMN[])::text, 'NULL')"), arg)
	}
	both, three := fmt.Sprintf("{%v,%v}", a, b), fmt.Sprintf("{%v,%v,%v}", a, a, b)
	pointers := []*K{&a, &a, &b}
	ofThree := []pgtype.ArrayDimension{{Length: 3, LowerBound: 1}}

	add(lineArgument, "INSERT", func(t *testing.T, conn *pgx.Conn) error {
		return errors.Join(insert(t, conn), stored(t, conn, fmt.Sprintf("low=%v high=%v null=NULL", a, b)))
	})
	add(lineArgument, "WHERE", func(t *testing.T, conn *pgx.Conn) error {
		errs := []error{insert(t, conn)}
		for _, arg := range []any{b, new(&b), sql.Null[K]{V: b, Valid: true}} {
			errs = append(errs, reads(t, conn, "high", expand("SELECT label FROM TABLE WHERE id = $1"), arg))
		}
		for _, arg := range []any{a, &a} {
			errs = append(errs, reads(t, conn, "low", expand("SELECT label FROM TABLE WHERE id = $1"), arg))
		}
		return errors.Join(errs...)
	})
	for _, c := range []struct {
		line line
		arg  any
		want string
	}{
		{lineArgument, []K(nil), "NULL"},
		{lineArgument, []*K(nil), "NULL"},
		{lineArgument, keys[K](nil), "NULL"},
		{lineArgument, (*[]K)(nil), "NULL"},
		{lineArgument, pgtype.FlatArray[K](nil), "NULL"},
		{lineList, []K{a, b}, both},
		{lineList, []K{}, "{}"},
		{lineList, [2]K{a, b}, both},
		{lineList, pointers, three},
		{lineList, [3]*K(pointers), three},
		{lineList, keys[K]{a, b}, both},
		{lineArray, pgtype.FlatArray[K]{a, b}, both},
		{lineArray, pgtype.FlatArray[*K](pointers), three},
		{lineArray, pgtype.Array[K]{Elements: []K{a, b}, Dims: []pgtype.ArrayDimension{{Length: 2, LowerBound: 1}, {Length: 1, LowerBound: 1}}, Valid: true},
			fmt.Sprintf("{{%v},{%v}}", a, b)},
		{lineArray, pgtype.Array[*K]{Elements: pointers, Dims: ofThree, Valid: true}, three},
		{lineArray, &pgtype.Array[*K]{Elements: pointers, Dims: ofThree, Valid: true}, three},
		{lineArray, pgtype.Array[K]{Dims: []pgtype.ArrayDimension{}, Valid: true}, "{}"},
		{lineArray, pgtype.Array[K]{}, "NULL"},
		{lineArray, &pointers, three},
	} {
		add(c.line, fmt.Sprintf("%T as %s", c.arg, c.want), func(t *testing.T, conn *pgx.Conn) error { return sent(t, conn, c.arg, c.want) })
	}
	add(lineList, "= ANY", func(t *testing.T, conn *pgx.Conn) error {
		return errors.Join(insert(t, conn), reads(t, conn, "high", expand("SELECT string_agg(label, ' ' ORDER BY label) FROM TABLE WHERE id = ANY($1)"), []K{b}))
	})
	add(lineBatch, "= ANY", func(t *testing.T, conn *pgx.Conn) error {
		batch := &pgx.Batch{}
		batch.Queue(expand("INSERT INTO TABLE (label, ids) VALUES ('list', $1)"), pointers)
		batch.Queue(expand("DELETE FROM TABLE WHERE ids <> $1"), pointers)
		return errors.Join(conn.SendBatch(t.Context(), batch).Close(), stored(t, conn, "list=NULL "+three))
	})
	add(lineCopy, "COPY", func(t *testing.T, conn *pgx.Conn) error {
		_, err := conn.CopyFrom(t.Context(), pgx.Identifier{table(column)}, []string{"label", "id", "ids"}, pgx.CopyFromRows([][]any{
			{"low", a, []K{a, b}}, {"high", &b, pointers}, {"null", (*K)(nil), []K(nil)},
		}))
		return errors.Join(err, stored(t, conn, fmt.Sprintf("low=%v %s high=%v %s null=NULL", a, both, b, three)))
	})
	add(lineResult, "SELECT", func(t *testing.T, conn *pgx.Conn) error {
		errs := []error{insert(t, conn)}
		query := expand("SELECT id FROM TABLE WHERE label = $1")
		for label, want := range map[string]*K{"low": &a, "high": &b, "null": nil} {
			errs = append(errs, reads(t, conn, want, query, label))
			var null sql.Null[K]
			if want != nil {
				null = sql.Null[K]{V: *want, Valid: true}
			}
			errs = append(errs, reads(t, conn, null, query, label), reads(t, conn, null.V, query, label))
		}
		return errors.Join(errs...)
	})
	add(lineResults, "arrays", func(t *testing.T, conn *pgx.Conn) error {
		query := expand(fmt.Sprintf("SELECT '{%v,NULL,%v}'::COLUMN[]", a, b))
		want := []*K{&a, nil, &b}
		return errors.Join(
			reads(t, conn, []K{a, *new(K), b}, query),
			reads(t, conn, want, query),
			reads(t, conn, pgtype.FlatArray[*K](want), query),
			reads(t, conn, pgtype.Array[*K]{Elements: want, Dims: ofThree, Valid: true}, query),
			reads(t, conn, []K(nil), expand("SELECT NULL::COLUMN[]")),
		)
	})
	return cells
}

// keys is a named slice type.
type keys[K any] []K

// table returns the name of the table that begin creates for a type of column.
func table(column string) string {
	return "t_" + strings.NewReplacer("(", "", ")", "").Replace(column)
}

// A compound is the Go type for begin's composite type.
type compound struct {
	ID   pk.ID
	Ref  *pk.Of[user]
	Code pk.Text
	IDs  []pk.ID
}

var compounds = []compound{
	{low, new(pk.Of[user](high)), high, []pk.ID{low, high}},
	{high, nil, low, nil},
}

const compoundText = `{"(1234567890123456788,1234567890123456789,1234567890123456789,\"{1234567890123456788,1234567890123456789}\")","(1234567890123456789,,1234567890123456788,)"}`

// begin creates tables and types for a connection, and registers the composite type
// with pgx.
func begin(t *testing.T, conn *pgx.Conn) {
	for _, column := range []string{"bigint", "text", "varchar(20)", "char(13)"} {
		exec(t, conn, fmt.Sprintf("CREATE TEMP TABLE %s (label text, id %s, ids %[2]s[])", table(column), column))
	}
	exec(t, conn, "CREATE TEMP TABLE t_key (ids key[])")
	for _, name := range []string{"compound", "_compound"} {
		conn.TypeMap().RegisterType(dbtest.Must(conn.LoadType(t.Context(), name))(t))
	}
	conn.TypeMap().RegisterDefaultPgType(compound{}, "compound")
	conn.TypeMap().RegisterDefaultPgType([]compound(nil), "_compound")
}

// allCells returns all cells of all types.
func allCells() []cell {
	var cells []cell
	for _, more := range [][]cell{
		cellsOf("bigint", pk.ID(low), pk.ID(high)),
		cellsOf("bigint", pk.Of[user](low), pk.Of[user](high)),
		cellsOf("bigint", pk.String(decimal(low)), pk.String(decimal(high))),
		cellsOf("bigint", pk.Text(low), pk.Text(high)),
		cellsOf("text", pk.Text(low), pk.Text(high)),
		cellsOf("text", pk.SortText(low), pk.SortText(high)),
		cellsOf("varchar(20)", pk.Text(low), pk.Text(high)),
		cellsOf("char(13)", pk.SortText(low), pk.SortText(high)),
	} {
		cells = append(cells, more...)
	}
	return append(cells,
		cell{lineList, "empty pk.String", func(t *testing.T, conn *pgx.Conn) error {
			return reads(t, conn, "{1,NULL}", "SELECT ($1::bigint[])::text", []pk.String{"1", ""})
		}},
		cell{lineDomain, "UPDATE", func(t *testing.T, conn *pgx.Conn) error {
			exec(t, conn, "TRUNCATE t_key")
			exec(t, conn, "INSERT INTO t_key DEFAULT VALUES")
			_, err := conn.Exec(t.Context(), "UPDATE t_key SET ids = $1", []pk.ID{low, high})
			return errors.Join(err, reads(t, conn, "{1234567890123456788,1234567890123456789}", "SELECT coalesce(ids::text, '') FROM t_key"))
		}},
		cell{lineComposite, "argument", func(t *testing.T, conn *pgx.Conn) error {
			first, _, _ := strings.Cut(compoundText, `,"(1234567890123456789,,`) // before 5.8.0, pgx can't send nil pointers
			return reads(t, conn, first+"}", "SELECT ($1::compound[])::text", compounds[:1])
		}},
		cell{lineResults, "composite", func(t *testing.T, conn *pgx.Conn) error {
			return reads(t, conn, compounds, "SELECT '"+compoundText+"'::compound[]")
		}},
	)
}

// TestTable runs all cells in every mode, with and without Register. The lines must be those of
// README.md.
func TestTable(t *testing.T) {
	t.Parallel()
	db := reuse.Open(t, "postgres")
	setup := connect(t, db, pgx.QueryExecModeExec)
	exec(t, setup, "CREATE TYPE compound AS (id bigint, ref bigint, code text, ids bigint[])")
	exec(t, setup, "CREATE DOMAIN key AS bigint")
	for _, mode := range modes {
		for _, register := range []bool{false, true} {
			conn := connect(t, db, mode)
			begin(t, conn)
			if register {
				pgxid.Register(conn.TypeMap())
			}
			for _, c := range allCells() {
				works := register || c.line.blind || c.line.described && describes(mode)
				if err := c.run(t, conn); (err == nil) != works {
					t.Errorf("%v register=%v, %s: got %v, want an error: %v", mode, register, c.name, err, !works)
				}
			}
		}
	}

	var b strings.Builder
	b.WriteString("| | cache statement, cache describe, describe exec | exec, simple protocol | all, after `Register` |\n|---|---|---|---|\n")
	for _, l := range lines {
		words := map[bool]string{true: "yes", false: "no"}
		fmt.Fprintf(&b, "| %s | %s | %s | yes |\n", l.text, words[l.described], words[l.blind])
	}
	if page := dbtest.Must(os.ReadFile("README.md"))(t); !strings.Contains(string(page), b.String()) {
		t.Errorf("README.md should have the table\n%s", &b)
	}
}

// After Register, a slice may contain nil pointers in every version of pgx. Without it, pgx can
// send them since 5.8.0.
func TestNilPointersInSlices(t *testing.T) {
	each(t, func(t *testing.T, conn *pgx.Conn) {
		a, b := pk.ID(low), pk.ID(high)
		dbtest.NoError(t, reads(t, conn, "{1234567890123456788,NULL,1234567890123456789}", "SELECT ($1::bigint[])::text", []*pk.ID{&a, nil, &b}))
	})
}

// A nil pointer behind another pointer must be NULL, as in a row whose fields are passed by
// their addresses.
func TestNilPointerBehindPointer(t *testing.T) {
	each(t, func(t *testing.T, conn *pgx.Conn) {
		exec(t, conn, "CREATE TEMPORARY TABLE staff (id bigint, boss bigint, code text)")
		type row struct {
			ID   pk.ID
			Boss *pk.ID
			Code *pk.SortText
		}
		boss, code := pk.ID(low), pk.SortText(high)
		rows := []row{{ID: low}, {ID: high, Boss: &boss, Code: &code}}
		for i := range rows {
			exec(t, conn, "INSERT INTO staff VALUES ($1, $2, $3)", &rows[i].ID, &rows[i].Boss, &rows[i].Code)
		}
		dbtest.Must(conn.CopyFrom(t.Context(), pgx.Identifier{"staff"}, []string{"id", "boss", "code"},
			pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) { return []any{&rows[i].ID, &rows[i].Boss, &rows[i].Code}, nil })))(t)
		null, set := decimal(low)+" NULL NULL", fmt.Sprintf("%s %v %v", decimal(high), boss, code)
		got := all[string](t, conn, "SELECT concat_ws(' ', id, coalesce(boss::text, 'NULL'), coalesce(code, 'NULL')) FROM staff ORDER BY id")
		if want := []string{null, null, set, set}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// Register must not change how other values, and lists of other types, are sent.
func TestLeftAlone(t *testing.T) {
	each(t, func(t *testing.T, conn *pgx.Conn) {
		for _, c := range []struct {
			column string
			arg    any
			want   string
		}{
			{"bigint[]", []int64{low, high}, "{1234567890123456788,1234567890123456789}"},
			{"text[]", []string{"a", "b"}, "{a,b}"},
			{"text", joined{low, high}, "1234567890123456788 1234567890123456789"},
			{"bytea", []byte("a"), `\x61`},
		} {
			if err := reads(t, conn, c.want, "SELECT ($1::"+c.column+")::text", c.arg); err != nil {
				t.Errorf("a %T: %v", c.arg, err)
			}
		}
		if !describes(conn.Config().DefaultQueryExecMode) {
			if err := reads(t, conn, "{2}", "SELECT ($1::bigint[])::text", counted{low, high}); err != nil {
				t.Errorf("a list with a Value of its own: %v", err)
			}
			// pgx caches plans by type, but has only one wrapper for all slices, and
			// one for all arrays.
			for _, lists := range [][2]any{{[]pk.ID{low}, []io.Reader{}}, {[1]pk.ID{low}, [1]io.Reader{}}} {
				dbtest.Must(one[string](t, conn, "SELECT ($1::bigint[])::text", lists[0]))(t)
				if _, err := one[string](t, conn, "SELECT ($1::text[])::text", lists[1]); err == nil || strings.Contains(err.Error(), "pgxid") {
					t.Errorf("a list of something else: %v", err)
				}
			}
		}
	})
}

// joined is a list of keys that has a Value method.
type joined []pk.ID

func (j joined) Value() (driver.Value, error) {
	return strings.Trim(fmt.Sprint([]pk.ID(j)), "[]"), nil
}

// counted is a list of keys that has a Value method, although pgx treats it as an
// array.
type counted []pk.ID

func (c counted) Value() (driver.Value, error)        { return fmt.Sprintf("{%d}", len(c)), nil }
func (c counted) Dimensions() []pgtype.ArrayDimension { return pgtype.FlatArray[pk.ID](c).Dimensions() }
func (c counted) Index(i int) any                     { return c[i] }
func (c counted) IndexType() any                      { return pk.ID(0) }

// If a key is invalid, a list must return the key's error.
func TestListRefuses(t *testing.T) {
	each(t, func(t *testing.T, conn *pgx.Conn) {
		for column, list := range map[string]any{"bigint[]": []pk.String{"1", "007"}, "text[]": []pk.SortText{-1}} {
			_, err := conn.Exec(t.Context(), "SELECT $1::"+column, list)
			if _, ok := errors.AsType[*pk.Error](err); !ok {
				t.Errorf("%v: %v, want a *pk.Error", list, err)
			}
		}
	})
}

// If database/sql uses pgx, it must send lists in the same way as pgx.
func TestDatabaseSQL(t *testing.T) {
	eachWay(t, func(t *testing.T, conn *pgx.Conn, described, registered bool) {
		db := stdlib.OpenDB(*conn.Config(), stdlib.OptionAfterConnect(func(_ context.Context, conn *pgx.Conn) error {
			if registered {
				pgxid.Register(conn.TypeMap())
			}
			return nil
		}))
		defer db.Close()
		var got string
		err := db.QueryRowContext(t.Context(), "SELECT ($1::bigint[])::text", []pk.Of[user]{low, high}).Scan(&got)
		if works := described || registered; (err == nil) != works {
			t.Errorf("error %v, want one: %v", err, !works)
		}
		if want := "{1234567890123456788,1234567890123456789}"; err == nil && got != want {
			t.Errorf("the list arrives as %s, want %s", got, want)
		}

		// database/sql returns arrays as text. The reader needs their own map to scan
		// them.
		m := pgtype.NewMap()
		m.RegisterDefaultPgType(&[]pk.ID{}, "_int8")
		var ids []pk.ID
		err = db.QueryRowContext(t.Context(), "SELECT ARRAY[1234567890123456788, NULL, 1234567890123456789]").Scan(m.SQLScanner(&ids))
		if want := []pk.ID{low, 0, high}; err != nil || !slices.Equal(ids, want) {
			t.Errorf("the array comes back as %v (%v), want %v", ids, err, want)
		}
	})
}
