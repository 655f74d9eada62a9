package autoinc

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// A Verification is the result of [Verify], a list of proofs.
type Verification struct {
	Proofs []Proof `json:"proofs"`
}

// A Proof is the result of a single check.
type Proof struct {
	Subject string `json:"subject"` // a quoted column, table or foreign key
	Verdict string `json:"verdict"`
	Text    string `json:"text"` // what was checked, and the result
}

// The verdicts of a [Proof].
const (
	Proven  = "proven"
	Open    = "open" // neither of the two, so somebody has to look at it
	Refuted = "refuted"
)

// Err returns an error that wraps [ErrRefuted] if any proof is refuted, otherwise nil.
func (v Verification) Err() error {
	refuted := slices.DeleteFunc(slices.Clone(v.Proofs), func(p Proof) bool { return p.Verdict != Refuted })
	if len(refuted) == 0 {
		return nil
	}
	return fail(ErrRefuted, "%d of %s refuted, the first for %s: %s", len(refuted), database.Plural(len(v.Proofs), "proof"), database.Printable(refuted[0].Subject), database.Printable(refuted[0].Text))
}

// WriteText writes the verification for people to read.
func (v Verification) WriteText(w io.Writer) error {
	var b bytes.Buffer
	count := make(map[string]int)
	for _, p := range v.Proofs {
		count[p.Verdict]++
		fmt.Fprintf(&b, "%-8s %s\n", p.Verdict, database.Printable(p.Subject+": "+p.Text))
	}
	fmt.Fprintf(&b, "%d proven, %d open, %d refuted\n", count[Proven], count[Open], count[Refuted])
	_, err := w.Write(b.Bytes())
	return err
}

// Verify proves, by means of the catalog and the data, that the keys of a plan no
// longer use auto-increment:
//
//   - keys and children have 64 bits
//   - every foreign key exists, is still valid, and resolves on every row
//   - no table has fewer rows than when the plan was first applied
//   - no key counts
//   - a row without a key is rejected
//
// Fewer rows are only reported as [Open], because the application may have deleted
// some. The last point follows from the catalog if the column is NOT NULL and has no
// default. Verify also tries to insert such a row, in a transaction that it rolls back.
// It only does so if the table has no triggers other than the plan's, since other
// triggers might do something that can't be rolled back.
//
// Note that Verify reads each table at least once, which can take long, and needs write
// privileges for the rows that it tries to insert. It returns the same errors as
// [catalog.Inspect].
func Verify(ctx context.Context, db *sql.DB, plan *Plan) (Verification, error) {
	if db == nil || plan == nil {
		return Verification{}, errors.New("autoinc: there is no database or no plan; pass an open *sql.DB and what NewPlan or ReadPlan returned")
	}
	sum, err := plan.sum()
	if err != nil {
		return Verification{}, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return Verification{}, fmt.Errorf("autoinc: %w", err)
	}
	defer conn.Close()
	if len(plan.keys) == 0 {
		return Verification{}, nil
	}
	found, err := database.Identify(ctx, conn, "")
	if err != nil {
		return Verification{}, err
	}
	if found.Dialect != plan.Dialect {
		return Verification{}, fail(ErrPlan, "the plan is for %s, and this is %s; verify it on the database it was made for", plan.Dialect, found.Dialect)
	}
	s := server{found}
	restore, err := s.plainly(ctx, conn)
	if err != nil {
		return Verification{}, err
	}
	defer restore()
	restore, err = s.impatiently(ctx, conn)
	if err != nil {
		return Verification{}, err
	}
	defer restore()
	v := verifier{server: s, conn: conn, plan: plan, ledger: ledger{s, plan.Progress, sum}}
	if err := v.verify(ctx); err != nil {
		return Verification{}, err
	}
	return v.Verification, nil
}

type verifier struct {
	server
	Verification
	conn       *sql.Conn
	plan       *Plan
	ledger     ledger
	columns    map[place]verifiedColumn
	tables     map[catalog.Name][]verifiedColumn // the same, in the order of the tables
	references []reference
	report     catalog.Report
	unique     map[catalog.Name][][]string // see uniques
	conditions []condition
	unsafe     []catalog.Name // tables without transactions
}

// A verifiedColumn describes the current state of a column.
type verifiedColumn struct {
	catalog.Column
	nullable bool
	fallback bool // whether it has a default
	computed bool // whether it can't be set
}

func (v *verifier) say(subject string, verdict string, format string, args ...any) {
	v.Proofs = append(v.Proofs, Proof{subject, verdict, fmt.Sprintf(format, args...)})
}

const (
	postgresNow = `SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
	format_type(CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE a.atttypid END, CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END),
	NOT (a.attnotnull OR t.typnotnull), a.atthasdef OR a.attidentity <> '' OR t.typdefault IS NOT NULL, a.attgenerated <> ''
FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p')
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attnum > 0 AND NOT a.attisdropped
ORDER BY n.nspname, c.relname, a.attnum`

	mysqlNow = `SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, COLUMN_TYPE, IS_NULLABLE = 'YES', COLUMN_DEFAULT IS NOT NULL OR EXTRA LIKE '%auto_increment%',
	EXTRA LIKE '%GENERATED%' AND EXTRA NOT LIKE '%DEFAULT_GENERATED%'
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA NOT IN ` + database.MySQLSystem + ` ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION`

	sqliteNow = `SELECT 'main', t.name, x.name, x.type, x.type, x."notnull" = 0, x.dflt_value IS NOT NULL, x.hidden > 1
FROM pragma_table_list AS t JOIN pragma_table_xinfo(t.name, 'main') AS x WHERE t.schema = 'main' AND t.type = 'table' ORDER BY t.name, x.cid`
)

func (v *verifier) verify(ctx context.Context) error {
	if err := v.read(ctx); err != nil {
		return err
	}
	v.verifyWidths()
	if err := v.verifyReferences(ctx); err != nil {
		return err
	}
	if err := v.verifyCounts(ctx); err != nil {
		return err
	}
	v.verifyCounters()
	if err := v.verifyRoutines(ctx); err != nil {
		return err
	}
	if err := v.verifyTrials(ctx); err != nil {
		return err
	}
	return v.verifyInserts(ctx)
}

// read reads the current catalog.
func (v *verifier) read(ctx context.Context) error {
	var schemas []string
	for _, k := range v.plan.keys {
		if schema := k.Column.Table.Schema; !slices.Contains(schemas, schema) {
			schemas = append(schemas, schema)
		}
	}
	var err error
	v.report, err = catalog.InspectConn(ctx, v.conn, catalog.Options{Schemas: schemas, OnlyDeclared: true})
	if errors.Is(err, catalog.ErrSchema) { // in which case the columns will be refuted
		v.report, err = catalog.InspectConn(ctx, v.conn, catalog.Options{OnlyDeclared: true})
	}
	if err != nil {
		return err
	}
	p := &planner{server: v.server}
	if err := v.syntax().references(p, ctx, v.conn); err != nil {
		return err
	}
	v.references = p.references
	columns, err := database.List(ctx, v.conn, v.syntax().now, func(c *verifiedColumn) []any {
		return append(path(&c.Column), &c.Type, typed(v.Dialect, &c.Column), &c.nullable, &c.fallback, &c.computed)
	})
	if err != nil {
		return err
	}
	v.columns, v.tables = make(map[place]verifiedColumn), make(map[catalog.Name][]verifiedColumn)
	for _, c := range columns {
		v.columns[exactPlace(c.Column)] = c
		v.tables[c.Table] = append(v.tables[c.Table], c)
	}
	return v.readTables(ctx)
}

func (v *verifier) verifyWidths() {
	seen := make(map[place]bool)
	for _, k := range v.plan.keys {
		columns := append([]catalog.Column{k.Column}, k.Holders...)
		for i := 0; i < len(columns); i++ { // the slice grows as we go
			was := columns[i]
			at := exactPlace(was)
			if seen[at] {
				continue
			}
			seen[at] = true
			// A foreign key may have been added since the plan was made.
			for _, r := range v.references {
				for j, key := range r.Keys {
					if r.Parent == was.Table && key == was.Name && j < len(r.Columns) {
						columns = append(columns, catalog.Column{Table: r.Child, Name: r.Columns[j]})
					}
				}
			}
			c, ok := v.columns[at]
			switch {
			case !ok:
				v.say(v.column(was), Refuted, "the column is not there any more")
			case narrow(c.Column):
				v.say(v.column(was), Refuted, "it is %s, which does not hold 64 bits", c.Type)
			case c.Bits == 0:
				v.say(v.column(was), Open, "it is %s, which is not a number; check that it keeps 19 digits", c.Type)
			default:
				v.say(v.column(was), Proven, "it is %s, which holds 64 bits", c.Type)
			}
		}
	}
}

// verifyRoutines adds open proofs, because we can't tell whether functions, procedures
// and triggers accept 64-bit keys.
func (v *verifier) verifyRoutines(ctx context.Context) error {
	routines, err := database.NarrowRoutines(ctx, v.conn, v.Server)
	for _, r := range routines {
		i := slices.IndexFunc(v.plan.tables(), func(table catalog.Name) bool { return r.Mentions(table.Schema, table.Name) })
		if i >= 0 {
			v.say(r.String(), Open, "it mentions %s and uses integers of fewer than 64 bits; check that none of them holds a key", v.name(v.plan.tables()[i]))
		}
	}
	return err
}

// tables returns the tables of the keys and of the columns that hold the keys.
func (p *Plan) tables() (all []catalog.Name) {
	for _, k := range p.keys {
		for _, c := range append([]catalog.Column{k.Column}, k.Holders...) {
			if !slices.Contains(all, c.Table) {
				all = append(all, c.Table)
			}
		}
	}
	return all
}

// is reports whether two references have the same tables and columns. We can't simply
// compare them on SQLite, which keeps names as they were written and leaves out the
// columns of a referenced primary key.
func (v *verifier) is(a, b reference) bool {
	if !v.syntax().fold {
		return a.same(b)
	}
	fold := func(names []string) (folded []string) {
		for _, name := range names {
			folded = append(folded, ddl.Lower(name))
		}
		return folded
	}
	return ddl.Lower(a.Child.Name) == ddl.Lower(b.Child.Name) && ddl.Lower(a.Parent.Name) == ddl.Lower(b.Parent.Name) &&
		slices.Equal(fold(a.Columns), fold(b.Columns)) && (slices.Equal(fold(a.Keys), fold(b.Keys)) || slices.Contains(a.Keys, ""))
}

func (v *verifier) verifyReferences(ctx context.Context) error {
	var seen []reference
	for _, k := range v.plan.keys {
		for _, r := range k.References {
			if slices.ContainsFunc(seen, r.same) {
				continue
			}
			seen = append(seen, r)
			subject := fmt.Sprintf("%s (%s) references %s (%s)", v.name(r.Child), v.List(r.Columns), v.name(r.Parent), v.List(r.Keys))
			i := slices.IndexFunc(v.references, func(now reference) bool { return v.is(now, r) })
			switch {
			case i < 0:
				v.say(subject, Refuted, "the foreign key is not there any more")
				continue
			case v.references[i].OnDelete != r.OnDelete || v.references[i].OnUpdate != r.OnUpdate:
				v.say(subject, Refuted, "it is ON UPDATE %s ON DELETE %s, and was ON UPDATE %s ON DELETE %s", v.references[i].OnUpdate, v.references[i].OnDelete, r.OnUpdate, r.OnDelete)
				continue
			case v.references[i].Match+v.references[i].Detail != r.Match+r.Detail:
				v.say(subject, Refuted, "it is%s%s, and was%s%s", v.references[i].Match, cmp.Or(v.references[i].Detail, " NOT DEFERRABLE"), r.Match, cmp.Or(r.Detail, " NOT DEFERRABLE"))
				continue
			case !v.references[i].Valid && r.Valid:
				v.say(subject, Refuted, "the foreign key is NOT VALID: VALIDATE CONSTRAINT %s", v.Quote(v.references[i].Name))
				continue
			case !v.references[i].Valid:
				v.say(subject, Proven, "the foreign key is there, and NOT VALID as it was before")
				continue
			}
			lost, err := anyRow(ctx, v.conn, v.orphans(r))
			if err != nil {
				return err
			}
			if lost {
				v.say(subject, Refuted, "a row references none; see %s", v.orphans(r))
			} else {
				v.say(subject, Proven, "the foreign key is there and every row resolves")
			}
		}
	}
	return nil
}

func (v *verifier) verifyCounts(ctx context.Context) error {
	entries := make(map[string]entry)
	there, err := v.ledger.exists(ctx, v.conn)
	if err == nil && there {
		entries, err = v.ledger.read(ctx, v.conn)
	}
	if err != nil {
		return err
	}
	for _, s := range v.plan.Phases[0].Steps {
		if s.Run != Count || !strings.HasPrefix(s.SQL, countRows) {
			continue // the rest is for Undo
		}
		if !v.there(s.SQL) {
			v.say(s.Text, Refuted, "the table is not there any more")
			continue
		}
		before, err := strconv.ParseInt(entries[s.ID].detail, 10, 64)
		if err != nil {
			v.say(s.Text, Open, "the rows were not counted before: the plan was not applied here")
			continue
		}
		now, err := database.One(ctx, v.conn, s.SQL, database.Number)
		switch {
		case err != nil:
			return err
		case now < before:
			v.say(s.Text, Open, "there are %d rows, and there were %d: %d have been deleted since, if the application deletes such rows", now, before, before-now)
		default:
			v.say(s.Text, Proven, "there are %d rows, and there were %d", now, before)
		}
	}
	return v.verifyGuards(ctx, entries)
}

// verifyGuards checks that the fences and guards of the phases that were applied are still
// there. GORM's migrator, for instance, rebuilds tables of SQLite without their triggers.
func (v *verifier) verifyGuards(ctx context.Context, entries map[string]entry) error {
	for _, phase := range v.plan.Phases {
		if phase.Name != Guard && (phase.Name != Fence || v.plan.phase(Drop).begun(entries)) {
			continue
		}
		for _, s := range phase.Steps {
			if !s.Lasting || !entries[s.ID].taken() {
				continue
			}
			held, err := database.One(ctx, v.conn, s.Done, database.Number)
			switch {
			case ctx.Err() != nil:
				return err
			case err != nil || held == 0: // the table may be gone
				v.say(s.Text, Refuted, "it was applied, and is not there any more; apply the phase %s again", phase.Name)
			default:
				v.say(s.Text, Proven, "it is there")
			}
		}
	}
	return nil
}

// there reports whether the table that a step counts still exists.
func (v *verifier) there(count string) bool {
	for _, c := range v.columns {
		if count == v.counting(c.Table) {
			return true
		}
	}
	return false
}

func (v *verifier) verifyCounters() {
	for _, k := range v.plan.keys {
		if how := v.counts(k); how != "" {
			v.say(v.column(k.Column), Refuted, "it still counts: %s", how)
		} else {
			v.say(v.column(k.Column), Proven, "nothing counts it any more")
		}
	}
}

// counts returns how a key of the plan is still counted, or "".
func (v *verifier) counts(k plannedKey) catalog.Mechanism {
	i := slices.IndexFunc(v.report.Keys, func(other catalog.Key) bool {
		return same(other.Column, k.Column) || slices.Contains(k.Also, other.Column.Table) && other.Column.Name == k.Column.Name
	})
	if i < 0 {
		return ""
	}
	return v.report.Keys[i].Mechanism
}
