package pk_test

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/schema/pk/public"
)

// These are the rows for every form. They are three pairs of keys that differ by one,
// which means that the keys of a pair are equal as float64. All keys have 19 digits, so
// decimal text sorts in the same order as the numbers. In each row, column ref contains
// the other key of the pair, and g is the number of the pair.
var rowKeys = map[string]int64{
	"a1": low, "a2": high,
	"b1": 1 << 62, "b2": 1<<62 + 1,
	"c1": 1<<63 - 2, "c2": 1<<63 - 1,
}

var rowLabels = []string{"a1", "a2", "b1", "b2", "c1", "c2"}

func partner(label string) string {
	return label[:1] + map[byte]string{'1': "2", '2': "1"}[label[1]]
}

// A form is one of the ways to use a key in a statement.
type form struct {
	query string // a condition for SELECT label FROM t, a complete SELECT, or a change
	args  string // the rows whose keys are the arguments; #1 is the integer 1
	want  string // labels of the selected rows, or of all rows after a change

	only   string // the dialects that support it; empty for all
	column string // "number" or "text" if it only works for such columns
	vague  bool   // Postgres can't tell that the argument is a bigint, and refuses a number
}

// Within a query, ZERO stands for the empty value of a column, NUMBER and TEXT for the
// types used with CAST, and MEMBER for the key within the JSON document doc.
var forms = []form{
	// Comparisons.
	{query: "id = ?", args: "a1", want: "a1"},
	{query: "id <> ?", args: "b1", want: "a1 a2 b2 c1 c2"},
	{query: "id < ?", args: "b2", want: "a1 a2 b1"},
	{query: "id > ?", args: "b1", want: "b2 c1 c2"},
	{query: "id BETWEEN ? AND ?", args: "a2 b1", want: "a2 b1"},
	{query: "? BETWEEN ref AND id", args: "a1", want: "a2"},
	{query: "id IS NOT DISTINCT FROM ?", args: "a1", want: "a1", only: "postgres"},
	{query: "id <=> ?", args: "a1", want: "a1", only: "mysql"},
	{query: "id IS ?", args: "a1", want: "a1", only: "sqlite"},

	// Lists and rows.
	{query: "id IN (?)", args: "c1", want: "c1"},
	{query: "id IN (?, ?)", args: "a1 b2", want: "a1 b2"},
	{query: "? IN (id, ref)", args: "c2", want: "c1 c2"},
	{query: "(id, ref) = (?, ?)", args: "a1 a2", want: "a1"},
	{query: "(g, id) IN ((?, ?), (?, ?))", args: "#1 a1 #2 b2", want: "a1 b2"},
	{query: "(id, ref) IN ((?, ?), (?, ?))", args: "a2 a1 c1 c2", want: "a2 c1", only: "mysql postgres"},
	{query: "(id, ref) IN (VALUES (?, ?), (?, ?))", args: "a2 a1 c1 c2", want: "a2 c1", only: "sqlite"},
	{query: "(g, id) > (?, ?)", args: "#2 b1", want: "b2 c1 c2"},
	{query: "id = ANY(?)", args: "[a1 b2]", want: "a1 b2", only: "postgres"},
	{query: "id = ANY(ARRAY[?, ?])", args: "a1 b2", want: "a1 b2", only: "postgres", vague: true},

	// Expressions.
	{query: "CASE id WHEN ? THEN 1 WHEN ? THEN 2 ELSE 0 END = 2", args: "a1 a2", want: "a2"},
	{query: "CASE WHEN g = 1 THEN id ELSE ref END = ?", args: "c1", want: "c2"},
	{query: "COALESCE(id, ZERO) = ?", args: "a1", want: "a1"},
	{query: "COALESCE(id, ?) = ?", args: "a1 a2", want: "a2"},
	{query: "NULLIF(id, ?) IS NULL", args: "a2", want: "a2"},
	{query: "IFNULL(id, ZERO) = ?", args: "b1", want: "b1", only: "mysql sqlite"},
	{query: "FIELD(id, ?, ?) = 2", args: "a1 a2", want: "a2", only: "mysql"},
	{query: "INTERVAL(id, ?, ?) = 1", args: "a2 b1", want: "a2", only: "mysql", column: "number"},
	{query: "GREATEST(id, ?) = ?", args: "a2 a2", want: "a1 a2", only: "mysql postgres"},
	{query: "LEAST(id, ?) = ?", args: "c2 c1", want: "c1", only: "mysql postgres"},
	{query: "id = GREATEST(?, ?)", args: "a1 a2", want: "a2", only: "mysql postgres", vague: true},
	{query: "max(id, ?) = ?", args: "a2 a2", want: "a1 a2", only: "sqlite"},
	{query: "id + 0 = ?", args: "a1", want: "a1", column: "number"},
	{query: "id - ? = 0", args: "a2", want: "a2", column: "number"},
	{query: "id = ? + 1", args: "a1", want: "a2", column: "number", vague: true},
	{query: "id % ? = 0", args: "b2", want: "b2", column: "number"},
	{query: "TRIM(id) LIKE ?", args: "a1", want: "a1", column: "text"},
	{query: "id || '' = ?", args: "a1", want: "a1", column: "text", only: "sqlite postgres"},
	{query: "CONCAT(id, '') = ?", args: "a1", want: "a1", column: "text", only: "mysql"},
	{query: "CAST(id AS NUMBER) = ?", args: "a1", want: "a1", column: "number"},
	{query: "id = CAST(? AS NUMBER)", args: "a2", want: "a2", column: "number"},
	{query: "id = CAST(? AS NUMBER) + 1", args: "a1", want: "a2", column: "number"},
	{query: "CAST(id AS TEXT) = ?", args: "a1", want: "a1", column: "text"},
	{query: "id = CAST(? AS TEXT)", args: "a2", want: "a2", column: "text", only: "sqlite postgres"}, // MySQL: mixed collations
	{query: "id = CONCAT(?, '')", args: "a2", want: "a2", column: "text", only: "mysql"},
	{query: "CAST(MEMBER AS NUMBER) = ?", args: "a1", want: "a1", column: "number"},
	{query: "MEMBER = ?", args: "a1", want: "a1", column: "text"},

	// Subqueries and joins.
	{query: "id IN (SELECT ref FROM t WHERE id = ?)", args: "a1", want: "a2"},
	{query: "ref = (SELECT max(id) FROM t WHERE id < ?)", args: "b1", want: "a1"},
	{query: "EXISTS (SELECT 1 FROM t o WHERE o.ref = t.id AND o.id = ?)", args: "c2", want: "c1"},
	{query: "SELECT a.label FROM t a JOIN t b ON b.ref = a.id WHERE b.id = ?", args: "a1", want: "a2"},
	{query: "SELECT a.label FROM t a JOIN t b USING (id) WHERE id = ?", args: "b1", want: "b1"},
	{query: "SELECT a.label FROM t a LEFT JOIN t b ON b.ref = a.id AND b.id = ? WHERE b.id IS NOT NULL", args: "b1", want: "b2"},
	{query: "SELECT label FROM v WHERE id = ?", args: "a1", want: "a1"},
	{query: "SELECT label FROM (SELECT label, max(id) AS m FROM t GROUP BY label) x WHERE m = ?", args: "a1", want: "a1"},
	{query: "WITH x AS (SELECT id, label FROM t WHERE g = 1) SELECT label FROM x WHERE id = ?", args: "a2", want: "a2"},
	{query: "SELECT label FROM t JOIN (SELECT ? AS k UNION ALL SELECT ?) x ON x.k = id ORDER BY id", args: "a1 b2", want: "a1 b2", vague: true},

	// Groups and order.
	{query: "SELECT label FROM t GROUP BY label HAVING max(id) = ?", args: "a2", want: "a2"},
	{query: "SELECT label FROM t GROUP BY label HAVING min(id) > ? ORDER BY label", args: "b1", want: "b2 c1 c2"},
	{query: "SELECT min(label) FROM t GROUP BY CASE WHEN id <= ? THEN 1 ELSE 2 END ORDER BY 1", args: "a1", want: "a1 a2"},
	{query: "SELECT label FROM t WHERE id > ? ORDER BY id LIMIT 2", args: "a1", want: "a2 b1"},
	{query: "SELECT label FROM t WHERE id < ? ORDER BY id DESC LIMIT 2", args: "c2", want: "c1 b2"},
	{query: "SELECT label FROM t WHERE (g, id) < (?, ?) ORDER BY g DESC, id DESC LIMIT 2", args: "#3 c2", want: "c1 b2"},
	{query: "SELECT label FROM t ORDER BY CASE id WHEN ? THEN 0 WHEN ? THEN 1 ELSE 2 END, id LIMIT 3", args: "b2 a2", want: "b2 a2 a1"},
	{query: "SELECT label FROM t ORDER BY id = ? DESC, id LIMIT 2", args: "c2", want: "c2 a1"},
	{query: "SELECT label FROM t ORDER BY FIELD(id, ?, ?) DESC, id LIMIT 2", args: "c1 c2", want: "c2 c1", only: "mysql"},

	// Changes.
	{query: "UPDATE t SET label = 'A' WHERE id = ?", args: "a1", want: "A a2 b1 b2 c1 c2"},
	{query: "UPDATE t SET label = CASE id WHEN ? THEN 'A' WHEN ? THEN 'B' ELSE label END", args: "a1 a2", want: "A B b1 b2 c1 c2"},
	{query: "UPDATE t SET label = CASE id WHEN ? THEN 'A' WHEN ? THEN 'B' END WHERE id IN (?, ?)", args: "a1 b2 a1 b2", want: "A a2 b1 B c1 c2"},
	{query: "UPDATE t SET ref = ? WHERE id = ?", args: "c2 a1", want: "a1>c2 a2 b1 b2 c1 c2"},
	{query: "UPDATE t SET ref = CASE id WHEN ? THEN ? ELSE ref END", args: "a1 c1", want: "a1>c1 a2 b1 b2 c1 c2"},
	{query: "UPDATE t SET ref = COALESCE(?, ref) WHERE label = 'b1'", args: "c1", want: "a1 a2 b1>c1 b2 c1 c2"},
	{query: "DELETE FROM t WHERE id = ?", args: "a1", want: "a2 b1 b2 c1 c2"},
	{query: "DELETE FROM t WHERE id IN (?, ?)", args: "a1 b2", want: "a2 b1 c1 c2"},
	{query: "DELETE FROM t WHERE COALESCE(id, ZERO) = ?", args: "a1", want: "a2 b1 b2 c1 c2"},
	{query: "DELETE FROM t WHERE (g, id) IN ((?, ?), (?, ?))", args: "#1 a1 #2 b2", want: "a2 b1 c1 c2"},
	{query: "DELETE FROM t WHERE NOT (id BETWEEN ? AND ?)", args: "a1 b1", want: "a1 a2 b1"},
	{query: "INSERT INTO t (label, g, id, ref) SELECT 'new', 1, ref, id FROM (SELECT * FROM t) o WHERE id = ? ON DUPLICATE KEY UPDATE label = 'A'", args: "a1", want: "a1 A b1 b2 c1 c2", only: "mysql"},
	{query: "INSERT INTO t (label, g, id, ref) VALUES ('new', 1, ?, ?) ON DUPLICATE KEY UPDATE ref = VALUES(ref)", args: "a1 b1", want: "a1>b1 a2 b1 b2 c1 c2", only: "mysql"},
	{query: "INSERT INTO t (label, g, id, ref) VALUES ('new', 1, ?, ?) ON CONFLICT (id) DO UPDATE SET ref = excluded.ref", args: "a1 b1", want: "a1>b1 a2 b1 b2 c1 c2", only: "postgres sqlite"},
	{query: "REPLACE INTO t (label, g, id, ref) VALUES ('A', 1, ?, ?)", args: "a1 a2", want: "A a2 b1 b2 c1 c2", only: "mysql sqlite"},
}

// expand returns the SQL of the form for a session and a column.
func (f form) expand(s session, number bool) string {
	query := f.query
	switch strings.Fields(query)[0] {
	case "SELECT", "WITH", "UPDATE", "DELETE", "INSERT", "REPLACE":
	default:
		query = "SELECT label FROM t WHERE " + query + " ORDER BY label"
	}
	types := map[string][2]string{"sqlite": {"INTEGER", "TEXT"}, "mysql": {"SIGNED", "CHAR(20)"}, "postgres": {"BIGINT", "VARCHAR(20)"}}[s.dialect]
	zero := "''"
	if number {
		zero = "0"
	}
	member := strings.ReplaceAll(s.member("id"), "id-", "doc-")
	member = strings.ReplaceAll(member, "(id,", "(doc,")
	return strings.NewReplacer("ZERO", zero, "AS NUMBER", "AS "+types[0], "AS TEXT", "AS "+types[1], "MEMBER", member).Replace(query)
}

// A querying runs the forms, using one type of argument with one type of column.
type querying struct {
	column string
	number bool                      // whether the column contains numbers rather than text
	store  func(n int64) any         // returns the key to fill a row with
	arg    func(n int64) any         // returns the argument for one key
	list   func(numbers []int64) any // returns the argument for several keys, as a slice
	keys   map[string]string         // labels by key, as text
}

// fill creates and fills the table, and creates its view.
func (q querying) fill(t *testing.T, s session) {
	t.Helper()
	s.SetMaxIdleConns(0)
	s.SetMaxIdleConns(1)
	s.exec(t, "DROP VIEW IF EXISTS v")
	s.exec(t, "DROP TABLE IF EXISTS t")
	label, column, doc, end, primary := "VARCHAR(20)", q.column, "TEXT", "", "id"
	switch {
	case s.strict:
		label, column, end = "TEXT", strictTypes.Replace(column), " STRICT"
	case s.dialect == "postgres":
		doc = "jsonb"
	case s.dialect == "mysql":
		doc = "JSON"
		if column == "TEXT" {
			primary = "id(20)"
		}
	}
	s.exec(t, fmt.Sprintf("CREATE TABLE t (label %s, g INT, id %s NOT NULL, ref %s, doc %s, PRIMARY KEY (%s))%s", label, column, column, doc, primary, end))
	s.exec(t, "CREATE VIEW v AS SELECT label, id FROM t WHERE g = 1 UNION SELECT label, id FROM t WHERE g <> 1")
	for _, label := range rowLabels {
		id, ref := q.store(rowKeys[label]), q.store(rowKeys[partner(label)])
		q.keys[stored(id)] = label
		doc := dbtest.Must(json.Marshal(map[string]any{"id": stored(id)}))(t)
		s.exec(t, "INSERT INTO t (label, g, id, ref, doc) VALUES (?, ?, ?, ?, ?)", label, int64(label[0]-'a'+1), id, ref, string(doc))
	}
}

// args returns the arguments for a form.
func (q querying) args(f form) []any {
	if list, ok := strings.CutPrefix(f.args, "["); ok {
		var numbers []int64
		for label := range strings.FieldsSeq(strings.TrimSuffix(list, "]")) {
			numbers = append(numbers, rowKeys[label])
		}
		return []any{q.list(numbers)}
	}
	var args []any
	for label := range strings.FieldsSeq(f.args) {
		if label[0] == '#' {
			args = append(args, int64(label[1]-'0'))
		} else {
			args = append(args, q.arg(rowKeys[label]))
		}
	}
	return args
}

// run runs a form in a transaction, which it rolls back. It returns the labels of the
// rows that were selected. After a change, these are all rows in the order of their
// keys, including the label of ref if that has changed.
func (q querying) run(ctx context.Context, s session, f form) (got string, err error) {
	tx, err := s.BeginTx(ctx, nil)
	if err != nil {
		return "", err
	}
	defer tx.Rollback()
	query, args := s.sql(f.expand(s, q.number)), q.args(f)
	switch strings.Fields(query)[0] {
	case "UPDATE", "DELETE", "INSERT", "REPLACE":
		if _, err := tx.ExecContext(ctx, query, args...); err != nil {
			return "", err
		}
		query, args = "SELECT label, id, ref FROM t ORDER BY g, id", nil
	}
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	var labels []string
	for rows.Next() {
		var label, id, ref string
		if err := rows.Scan([]any{&label, &id, &ref}[:len(columns)]...); err != nil {
			return "", err
		}
		if len(columns) == 3 {
			before := q.keys[strings.TrimRight(id, " ")]
			if after := q.keys[strings.TrimRight(ref, " ")]; before == "" || after != partner(before) {
				label += ">" + after
			}
		}
		labels = append(labels, label)
	}
	return strings.Join(labels, " "), rows.Err()
}

// wrong runs all forms. It returns those that had the wrong rows, and those that were
// unexpectedly refused, or unexpectedly not refused.
func (q querying) wrong(t *testing.T, s session) (wrong, refused []string) {
	q.keys = make(map[string]string)
	q.fill(t, s)
	for _, f := range forms {
		if f.only != "" && !slices.Contains(strings.Fields(f.only), s.dialect) || f.column != "" && (f.column == "number") != q.number {
			continue
		}
		switch got, err := q.run(t.Context(), s, f); {
		case err != nil && !q.refuses(s, f):
			refused = append(refused, f.query+": "+err.Error())
		case err != nil:
		case q.refuses(s, f):
			refused = append(refused, f.query+": was not refused")
		case got != f.want:
			wrong = append(wrong, fmt.Sprintf("%s with %s: got %q, want %q", f.query, f.args, got, f.want))
		}
	}
	return wrong, refused
}

// over returns a querying for a type of key and a type of column.
func over[K any](column string, number bool, key func(n int64) K) querying {
	one := func(n int64) any { return key(n) }
	return querying{column: column, number: number, store: one, arg: one, list: func(numbers []int64) any {
		var list []K
		for _, n := range numbers {
			list = append(list, key(n))
		}
		return list
	}}
}

// with returns a copy that has the same column, but another type of argument.
func (q querying) with(other querying) querying {
	q.arg, q.list = other.arg, other.list
	return q
}

func number[K ~int64 | ~float64](n int64) K { return K(n) }
func stringOf(n int64) pk.String            { return pk.String(decimal(n)) }

// refuses reports whether a form must fail for all types that the column is intended
// for.
func (q querying) refuses(s session, f form) bool {
	switch {
	case s.dialect == "postgres" && f.args[0] == '[':
		_, key := q.arg(0).(driver.Valuer)
		return key && (s.mode == "exec" || s.mode == "simple") // because we don't use pgxid.Register
	case s.dialect == "postgres" && f.vague:
		return q.number
	}
	return strings.HasSuffix(q.column, "UNSIGNED") && f.query == "id - ? = 0" // some of the differences are negative
}

// For columns that they are intended for, all types of keys, as well as plain int64 and
// string, must select and change exactly those rows that a query refers to. Except at
// night, each session tries only some of the other types, in some of their columns.
func TestQueries(t *testing.T) {
	point := dbtest.Points(t)
	eachSession(t, func(t *testing.T, s session) {
		numbers := []string{"BIGINT", "DECIMAL(20)"}
		switch {
		case s.strict:
			numbers = numbers[:1]
		case s.dialect == "mysql":
			numbers = append(numbers, "BIGINT UNSIGNED")
		}
		var all []querying
		for _, column := range numbers {
			all = append(all, over(column, true, number[pk.ID]), over(column, true, number[pk.Of[user]]), over(column, true, number[pk.Prefixed[user]]),
				over(column, true, number[public.ID[user]]), over(column, true, stringOf), over(column, true, number[int64]))
		}
		for _, column := range []string{"VARCHAR(20)", "CHAR(20)", "TEXT"} {
			all = append(all, over(column, false, number[pk.Text]), over(column, false, number[pk.SortText]), over(column, false, decimal))
		}
		all = append(all, over("CHAR(13)", false, number[pk.SortText]))
		for i, q := range all {
			if common := i == 0 || q.column == "VARCHAR(20)"; !common && !point(i+len(s.mode)) {
				continue
			}
			t.Run(fmt.Sprintf("%s %T", q.column, q.arg(0)), func(t *testing.T) {
				wrong, refused := q.wrong(t, s)
				for _, f := range wrong {
					t.Error(f)
				}
				for _, f := range refused {
					t.Error(f)
				}
			})
		}
	})
}

// The forms must notice what goes wrong with other arguments, which are floats and keys
// for the other kind of column. This is the reason for the table in the documentation
// of package pk.
func TestQueriesFindWrongRows(t *testing.T) {
	eachSession(t, func(t *testing.T, s session) {
		bigint, varchar := over("BIGINT", true, number[pk.ID]), over("VARCHAR(20)", false, number[pk.Text])
		described := s.mode == "cached" || s.mode == "described"
		postgres, mysql := s.dialect == "postgres", s.dialect == "mysql" && !s.mariaDB
		for _, c := range []struct {
			querying
			wrong   bool // some forms find the wrong rows
			refused bool // all forms are refused
		}{
			{bigint.with(over("", true, number[float64])), true, false},
			{bigint.with(over("", true, number[pk.Text])), !postgres && !(mysql && s.mode == "prepared"), false},
			{varchar.with(over("", false, number[pk.ID])), !postgres, described},
		} {
			t.Run(fmt.Sprintf("%s %T", c.column, c.arg(0)), func(t *testing.T) {
				wrong, refused := c.querying.wrong(t, s)
				if c.wrong != (len(wrong) > 0) {
					t.Errorf("%d forms find wrong rows, want some: %v; the documentation of pk says which: %q", len(wrong), c.wrong, wrong)
				}
				if c.refused != (len(refused) > len(forms)/2) {
					t.Errorf("%d forms are refused, want most: %v", len(refused), c.refused)
				}
			})
		}
	})
}
