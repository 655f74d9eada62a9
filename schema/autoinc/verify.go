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
//   - for a plan with RekeyOptions, each row and each child has the key that the map gives it
//
// Fewer rows are only reported as [Open], because the application may have deleted
// some. The last point follows from the catalog if the column is NOT NULL and has no
// default. Verify also tries to insert such a row, in a transaction that it rolls back.
// It only does so if the table has no triggers other than the plan's, since other
// triggers might do something that can't be rolled back.
//
// Note that Verify reads each table at least once, which can take long, and needs write
// privileges for the rows that it tries to insert. If such a row takes a number from a
// counter that isn't part of the plan, the counter keeps a gap. Verify returns the same
// errors as [catalog.Inspect].
func Verify(ctx context.Context, db *sql.DB, plan *Plan) (Verification, error) {
	l, err := plan.open(ctx, db)
	if err != nil {
		return Verification{}, err
	}
	defer l.conn.Close()
	if len(plan.keys) == 0 {
		return Verification{}, nil
	}
	restore, err := l.Set(ctx, l.conn, append(l.settings("plain"), l.settings("wait")...)...)
	if err != nil {
		return Verification{}, err
	}
	defer restore() // if this fails, the connection is unusable anyway
	v := verifier{conn: l.conn, plan: plan, ledger: l}
	last := v.verifyInserts
	if plan.rekeyed() {
		last = v.verifyMaps
	}
	for _, step := range []func(context.Context) error{
		v.read, v.verifyWidths, v.verifyReferences, v.verifyCounts, v.verifyGuards, v.verifyCounters, v.verifyRoutines, v.verifyTrials, last,
	} {
		if err := step(ctx); err != nil {
			return Verification{}, err
		}
	}
	return v.Verification, nil
}

type verifier struct {
	schema
	Verification
	conn    *sql.Conn
	plan    *Plan
	ledger  ledger
	entries map[string]entry // the progress; nil if the plan was not applied here
	unsafe  []catalog.Name   // tables without transactions
}

func (v *verifier) say(subject string, verdict string, format string, args ...any) {
	v.Proofs = append(v.Proofs, Proof{subject, verdict, fmt.Sprintf(format, args...)})
}

// prove adds a proof, with the text for whether it holds.
func (v *verifier) prove(subject string, holds bool, proven, refuted string) {
	if holds {
		v.say(subject, Proven, "%s", proven)
	} else {
		v.say(subject, Refuted, "%s", refuted)
	}
}

// none adds a proof that a query returns no row.
func (v *verifier) none(ctx context.Context, subject, query, proven, refuted string) error {
	found, err := anyRow(ctx, v.conn, query)
	if err == nil {
		v.prove(subject, !found, proven, refuted)
	}
	return err
}

// read reads the current catalog, and the progress.
func (v *verifier) read(ctx context.Context) error {
	var err error
	v.schema, err = readSchema(ctx, v.conn, v.ledger.server, catalog.Options{Schemas: v.plan.schemas(), OnlyDeclared: true})
	if errors.Is(err, catalog.ErrSchema) { // in which case the columns will be refuted
		v.schema, err = readSchema(ctx, v.conn, v.ledger.server, catalog.Options{OnlyDeclared: true})
	}
	if err != nil {
		return err
	}
	if v.unsafe, err = database.List(ctx, v.conn, v.query("other engines"), tableName); err != nil {
		return err
	}
	v.entries, err = v.ledger.find(ctx)
	return err
}

func (v *verifier) verifyWidths(context.Context) error {
	seen := make(map[catalog.Column]bool)
	for _, k := range v.plan.keys {
		columns := k.columns()
		for i := 0; i < len(columns); i++ { // the slice grows as we go
			was := columns[i]
			at := bare(was)
			if seen[at] {
				continue
			}
			seen[at] = true
			// A foreign key may have been added since the plan was made.
			for _, r := range v.report.References {
				if j := slices.Index(r.Keys, was.Name); j >= 0 && r.Parent == was.Table {
					columns = append(columns, catalog.Column{Table: r.Child, Name: r.Columns[j]})
				}
			}
			c, ok := v.columns[at]
			switch {
			case !ok:
				v.say(v.column(was), Refuted, "the column is not there any more")
			case narrow(c.Column):
				v.say(v.column(was), Refuted, "it is %s, which does not hold 64 bits", c.Type)
			case c.Bits == 0 && v.plan.rekeyed():
				v.say(v.column(was), Refuted, "it is %s, which is not a number", c.Type)
			case c.Bits == 0:
				v.say(v.column(was), Open, "it is %s, which is not a number; check that it keeps 19 digits", c.Type)
			default:
				v.say(v.column(was), Proven, "it is %s, which holds 64 bits", c.Type)
			}
		}
	}
	return nil
}

// verifyRoutines adds open proofs, because we can't tell whether functions, procedures
// and triggers accept 64-bit keys.
func (v *verifier) verifyRoutines(ctx context.Context) error {
	routines, err := database.NarrowRoutines(ctx, v.conn, v.Server)
	tables := v.plan.tables()
	for _, r := range routines {
		if i := slices.IndexFunc(tables, func(table catalog.Name) bool { return r.Mentions(table.Schema, table.Name) }); i >= 0 {
			v.say(r.String(), Open, "it mentions %s and uses integers of fewer than 64 bits; check that none of them holds a key", v.name(tables[i]))
		}
	}
	return err
}

// tables returns the tables of the keys and of the columns that hold the keys.
func (p *Plan) tables() []catalog.Name {
	var columns []catalog.Column
	for _, k := range p.keys {
		columns = append(columns, k.columns()...)
	}
	return group(columns).tables
}

// verifyReferences compares foreign keys with what they were, and looks for orphans.
func (v *verifier) verifyReferences(ctx context.Context) error {
	when := func(r catalog.Reference) string { return r.Match + cmp.Or(r.Detail, " NOT DEFERRABLE") }
	for _, was := range v.plan.references {
		subject := fmt.Sprintf("%s (%s) references %s (%s)", v.name(was.Child), v.List(was.Columns), v.name(was.Parent), v.List(was.Keys))
		i := slices.IndexFunc(v.report.References, func(r catalog.Reference) bool { return sameReference(r, was) })
		if i < 0 {
			v.say(subject, Refuted, "the foreign key is not there any more")
			continue
		}
		is := v.report.References[i]
		switch {
		case is.OnDelete != was.OnDelete || is.OnUpdate != was.OnUpdate:
			v.say(subject, Refuted, "it is ON UPDATE %s ON DELETE %s, and was ON UPDATE %s ON DELETE %s", is.OnUpdate, is.OnDelete, was.OnUpdate, was.OnDelete)
		case when(is) != when(was):
			v.say(subject, Refuted, "it is%s, and was%s", when(is), when(was))
		case !is.Valid && was.Valid:
			v.say(subject, Refuted, "the foreign key is NOT VALID: VALIDATE CONSTRAINT %s", v.Quote(is.Name))
		case !is.Valid:
			v.say(subject, Proven, "the foreign key is there, and NOT VALID as it was before")
		default:
			orphans := v.orphans(was)
			if err := v.none(ctx, subject, orphans, "the foreign key is there and every row resolves", "a row references none; see "+orphans); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *verifier) verifyCounts(ctx context.Context) error {
	for _, s := range slices.Concat(v.plan.Phases[0].Steps, v.plan.phase(Rekey).Steps) {
		if s.Run != Count || !strings.HasPrefix(s.SQL, countRows) {
			continue // the rest is for Undo
		}
		if !slices.ContainsFunc(v.all, func(c column) bool { return s.SQL == v.counting(c.Table) }) {
			v.say(s.Text, Refuted, "the table is not there any more")
			continue
		}
		before, err := strconv.ParseInt(v.entries[s.ID].detail, 10, 64)
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
	return nil
}

// verifyGuards checks that the fences and guards of the phases that were applied are still
// there. GORM's migrator, for instance, rebuilds tables of SQLite without their triggers.
func (v *verifier) verifyGuards(ctx context.Context) error {
	for _, phase := range v.plan.Phases {
		if phase.Name != Guard && (phase.Name != Fence || v.plan.phase(Drop).begun(v.entries)) {
			continue
		}
		for _, s := range phase.Steps {
			if !s.Lasting || !v.entries[s.ID].taken() {
				continue
			}
			held, err := database.One(ctx, v.conn, s.Done, database.Number)
			if ctx.Err() != nil {
				return err
			}
			// The query fails if the table is gone.
			v.prove(s.Text, err == nil && held != 0, "it is there", fmt.Sprintf("it was applied, and is not there any more; apply the phase %s again", phase.Name))
		}
	}
	return nil
}

func (v *verifier) verifyCounters(context.Context) error {
	for _, k := range v.plan.keys {
		how := v.counts(k)
		v.prove(v.column(k.Column), how == "", "nothing counts it any more", "it still counts: "+string(how))
	}
	return nil
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
