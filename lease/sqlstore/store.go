package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/snowkey-go/snowkey/internal/kvlease"
	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/internal/sqldialect"
	"github.com/snowkey-go/snowkey/internal/sqlsession"
	"github.com/snowkey-go/snowkey/lease"
)

// defaultTable is the table of a [Store] unless WithTable says otherwise.
const defaultTable = "snowkey_lease"

// A Store keeps leases in two tables of a database. Use [Postgres] or [MySQL] to create
// one; the zero Store isn't valid.
//
// A Store is safe for concurrent use. It keeps one connection of the *sql.DB to itself
// while a process holds a lease, so that it can renew the lease when the application is
// using all the others.
type Store struct {
	db      *sql.DB
	dialect sqldialect.Dialect
	table   string
	words   map[string]string // what stands for the {words} in statements

	current atomic.Pointer[wording]
}

var _ lease.Store = (*Store)(nil)

// Postgres returns a store in the database of db. It requires PostgreSQL 12 or later.
func Postgres(db *sql.DB) *Store { return newStore(db, sqldialect.Postgres, defaultTable) }

// MySQL returns a store in the database of db. It requires MySQL 8, MariaDB 10.6, or
// later.
func MySQL(db *sql.DB) *Store { return newStore(db, sqldialect.MySQL, defaultTable) }

// WithTable returns a store in the same database that uses the tables name and name_ns
// instead of snowkey_lease and snowkey_lease_ns. The name is up to 51 ASCII letters,
// digits and underscores, optionally preceded by a schema or database and a dot. It's
// case-sensitive if table names are case-sensitive in the database.
func (s *Store) WithTable(name string) (*Store, error) {
	if err := sqlsession.CheckName(name); err != nil {
		return nil, err
	}
	return newStore(s.db, s.dialect, name), nil
}

// Reserve reserves a connection of the *sql.DB for the statements of all stores that use
// it, unless only one may be open. Keepers call it; see [lease.Store].
func (s *Store) Reserve() (release func(), warning string) { return sqlsession.Reserve(s.db) }

// Migrate creates the tables if they don't exist, which is the only time it needs the
// privilege to do so. It returns a [*lease.VersionError] for tables with a different
// protocol version, and a [*lease.PermanentError] for a table with a trigger, a rule,
// row-level security, or an engine other than InnoDB.
func (s *Store) Migrate(ctx context.Context) error {
	if there, err := s.inspect(ctx); there || err != nil {
		return s.explainFound(err)
	}
	for _, statement := range s.DDL() {
		if err := sqlsession.Create(ctx, s.db, s.dialect, statement); err != nil {
			return s.explainFound(err)
		}
	}
	return nil
}

// inspect reports whether the tables exist. It also returns an error if they can't be
// used.
func (s *Store) inspect(ctx context.Context) (there bool, err error) {
	err = sqlsession.Again(ctx, conflict, func() error {
		there, err = sqlsession.Inspect(ctx, s.db, s.dialect, s.table, s.table+"_ns")
		return err
	})
	return there, err
}

// Layouts implements [lease.Store]. Callers usually go on to add rows, so it returns the
// same errors for unusable tables as Migrate.
func (s *Store) Layouts(ctx context.Context, namespace string) (layouts []string, position int64, err error) {
	if _, err := s.inspect(ctx); err != nil {
		return nil, 0, s.explain(err)
	}
	type layout struct {
		name     string
		position int64
	}
	all, err := list(ctx, s, "{layouts}", args{"namespace": namespace}, func(l *layout) []any { return []any{&l.name, &l.position} })
	for _, l := range all {
		layouts = append(layouts, sqldialect.FromASCII(l.name))
		position = max(position, l.position+1)
	}
	slices.Sort(layouts)
	return slices.Compact(layouts), position, err
}

// CreateNamespace implements [lease.Store].
func (s *Store) CreateNamespace(ctx context.Context, terms lease.Terms, position int64) (created bool, err error) {
	return s.add(ctx, "{create}", args{"position": position}.with(terms))
}

// Probe implements [lease.Store]. Unless the query prefers a worker number or a label, it
// starts by reading a few rows at a random position, ignoring expired leases. If none of
// them are free, it reads all rows.
//
// Probe returns the same errors for unusable tables as Migrate. Its statement also reads
// the version, and whether there might be triggers, rules or row-level security, to save
// a round trip. There's no need to read the engine because changing it changes the
// fingerprint.
func (s *Store) Probe(ctx context.Context, q lease.Query) (lease.Probe, error) {
	switch {
	case q.Waiting:
		next, err := s.rows(ctx, "{next}", args{"min": q.Min, "max": q.Max}.with(q.Terms))
		if err != nil {
			return lease.Probe{}, err
		}
		if len(next) == 1 && !q.Terms.Free(next[0]) {
			return lease.Probe{HasNamespace: true, LastWorker: q.Max, Row: next[0], Now: next[0].Now}, nil
		}
	case q.PreferWorker < 0 && q.PreferLabel == "":
		p, err := s.probe(ctx, q, "{near row}", "@last")
		if p.HasFree && p.Row.Bound < q.Terms.At(p.Now).Cap || !p.HasNamespace || err != nil {
			return p, err
		}
	}
	return s.probe(ctx, q, "{best row}", "{top worker}")
}

func (s *Store) probe(ctx context.Context, q lease.Query, row, topOfRange string) (lease.Probe, error) {
	const prime = 1048573
	near, far := kvlease.Near(q)
	text := strings.NewReplacer("{row}", row, "{top of range}", topOfRange).Replace(s.words["probe"])
	a := args{
		"min": q.Min, "max": q.Max, "last": q.Min - 1, "near": near, "far": far,
		"factor": 1 + mathrand.Int64N(prime-1), "offset": mathrand.Int64N(prime),
		"prefer_worker": q.PreferWorker, "prefer_label": cmp.Or(q.PreferLabel, " "), // matches no row, because no label ends with a space
	}
	type part struct {
		of, protocol                       int64 // of is 0 for the server, whose cluster is in protocol; 1 for the namespace and 2 for a row
		n                                  [4]int64
		fingerprint, current, token, label sql.Null[string]
	}
	parts, err := list(ctx, s, text, a.with(q.Terms), func(p *part) []any {
		return []any{&p.of, &p.n[0], &p.n[1], &p.n[2], &p.n[3], &p.protocol, &p.fingerprint, &p.current, &p.token, &p.label}
	})
	if err != nil {
		return lease.Probe{}, err
	}
	var p lease.Probe
	var rows []lease.Row
	for _, found := range parts {
		n, in := found.n, s.table
		switch found.of {
		case 0:
			if s.join(found.protocol) {
				return s.probe(ctx, q, row, topOfRange)
			}
			p.Now, p.Volatile, p.LastWorker = n[0], n[1] == 1, n[3]
			if n[2] == 1 { // suspect
				if _, err := s.inspect(ctx); err != nil {
					return lease.Probe{}, s.explain(err)
				}
			}
			continue
		case 1:
			p.HasNamespace, p.Fence, p.Fingerprint, p.Current = true, n[0], found.fingerprint.V, found.current.V
			in += "_ns"
		case 2:
			rows = append(rows, lease.Row{
				Worker: n[0], Token: sqldialect.FromASCII(found.token.V), Revision: n[1],
				Bound: n[2], Expires: n[3], Label: sqldialect.FromASCII(found.label.V),
			})
		}
		if found.protocol != protocol.Version {
			return lease.Probe{}, &lease.VersionError{Where: fmt.Sprintf("namespace %q in the table %s", q.Terms.Namespace, in), Found: fmt.Sprint(found.protocol)}
		}
	}
	mathrand.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	for i := range rows {
		rows[i].Now = p.Now
	}
	found := false
	p.Row, found = kvlease.Choose(rows, q)
	p.Row.Now = p.Now
	p.HasFree = found && q.Terms.Free(p.Row)
	return p, nil
}

// Fence implements [lease.Store]. It returns the same errors for unusable tables as
// Migrate.
func (s *Store) Fence(ctx context.Context, terms lease.Terms, seen string) error {
	if _, err := s.inspect(ctx); err != nil {
		return s.explain(err)
	}
	a := args{"any_fingerprint": number(seen == ""), "seen_fingerprint": seen}
	_, err := s.write(ctx, "{fence}", a.with(terms), patient)
	return err
}

// maxRows is how many rows one statement adds.
const maxRows = 1024

// AddRows implements [lease.Store].
func (s *Store) AddRows(ctx context.Context, terms lease.Terms, least, most int64) error {
	for ; least <= most; least += maxRows {
		if _, err := s.add(ctx, "{add}", args{"min": least, "max": min(most, least+maxRows-1)}.with(terms)); err != nil {
			return err
		}
	}
	return nil
}

// add runs a write that inserts missing rows. If another process is inserting the same
// rows, add reports false instead of waiting for it, because if many processes waited
// for each other here, they would slow down all others.
func (s *Store) add(ctx context.Context, text string, a args) (added bool, err error) {
	w, err := s.write(ctx, text, a, noWait)
	if err != nil && sqldialect.Busy(err) {
		return false, nil
	}
	return w.changed, err
}

// Claim implements [lease.Store].
func (s *Store) Claim(ctx context.Context, c lease.Claim) (lease.Row, bool, error) {
	a := args{"fence": c.Fence, "bound": c.Seen.Bound, "label": c.Label, "volatile": number(c.Volatile)}
	row := c.Seen
	row.Label = c.Label
	return s.updateRow(ctx, "{claim}", c.Terms, row, c.Token, c.Wanted, a)
}

// Renew implements [lease.Store].
func (s *Store) Renew(ctx context.Context, r lease.Renewal) (lease.Row, bool, error) {
	return s.updateRow(ctx, "{renew}", r.Terms, r.Held, r.Token, r.Wanted, args{"volatile": number(r.Volatile)})
}

// Release implements [lease.Store].
func (s *Store) Release(ctx context.Context, terms lease.Terms, held lease.Row, unused int64) (bool, error) {
	_, ok, err := s.updateRow(ctx, "{release}", terms, held, "", 0, args{"unused": unused})
	return ok, err
}

// Rows implements [lease.Store].
func (s *Store) Rows(ctx context.Context, terms lease.Terms, least, most int64) ([]lease.Row, error) {
	return s.rows(ctx, "{rows}", args{"min": least, "max": most}.with(terms))
}

func (s *Store) rows(ctx context.Context, text string, a args) ([]lease.Row, error) {
	rows, err := list(ctx, s, text, a, func(r *lease.Row) []any {
		return []any{&r.Worker, &r.Token, &r.Revision, &r.Bound, &r.Expires, &r.Label, &r.Now}
	})
	for i := range rows {
		rows[i].Token, rows[i].Label = sqldialect.FromASCII(rows[i].Token), sqldialect.FromASCII(rows[i].Label)
	}
	return rows, err
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// conflict reports whether a statement should be tried again, usually because another one
// was faster. If the server has left its cluster, the next one may be another server.
func conflict(err error) bool { return sqldialect.Conflict(err) || sqldialect.HasLeft(err) }

// list reads rows. dest must return pointers to where the columns of a row are stored.
func list[T any](ctx context.Context, s *Store, text string, a args, dest func(*T) []any) (found []T, err error) {
	if err := s.ask(ctx, text); err != nil {
		return nil, err
	}
	err = s.worded(func(w *wording) error {
		found, err = read(ctx, s, w, text, a, dest)
		return err
	})
	return found, err
}

// read is like list, but with this wording, and without explaining errors.
func read[T any](ctx context.Context, s *Store, w *wording, text string, a args, dest func(*T) []any) (found []T, err error) {
	query, values := s.dialect.Bind(w.fill(text), a)
	err = sqlsession.Again(ctx, conflict, func() error {
		return sqlsession.Read(ctx, s.db, s.dialect, w.settings(), func(conn *sql.Conn) (err error) {
			found, err = sqlsession.List(ctx, conn, query, values, dest)
			return err
		})
	})
	return found, err
}

// updateRow runs an UPDATE of a row, provided that it still has the token and the
// revision of seen, and returns the row after a grant. If ok is false and err is nil, no row
// was changed. If the UPDATE was tried more than once, an earlier attempt may have
// changed the row although it returned an error. updateRow then returns that error, and
// the caller has to read the row, as after a lost reply.
func (s *Store) updateRow(
	ctx context.Context, text string, terms lease.Terms, seen lease.Row, token string, wanted int64, a args,
) (row lease.Row, ok bool, err error) {
	a["worker"], a["seen_token"], a["revision"], a["token"], a["wanted"] = seen.Worker, seen.Token, seen.Revision, token, wanted
	w, err := s.write(ctx, text, a.with(terms), patient)
	switch {
	case err != nil:
		return row, false, err
	case w.changed && w.now <= 0:
		return row, false, errors.New("sqlstore: the server did not answer with the time; a proxy or driver must not change LAST_INSERT_ID")
	case w.changed:
		// An UPDATE in MySQL can return only one number, so the statement returns the time,
		// and we have to repeat the rest of its calculation here.
		row = seen
		row.Now = w.now
		if token != "" { // a release grants nothing, and its terms may have no unit
			kvlease.Grant(&row, terms, token, wanted)
		}
		return row, true, nil
	case w.failed == nil:
		return row, false, nil
	}
	rows, err := s.Rows(ctx, terms, seen.Worker, seen.Worker)
	if err == nil && (len(rows) == 0 || rows[0].Revision != seen.Revision+1 || rows[0].Token != token) {
		return row, false, nil // no attempt has changed it, or another process has changed it since
	}
	return row, false, cmp.Or(err, w.failed)
}

// Whether a write waits for a row locked by another statement. Writes that must succeed
// do, such as renewals.
const (
	patient = true
	noWait  = false
)

// write runs a write and returns once it's committed.
func (s *Store) write(ctx context.Context, text string, a args, patient bool) (result written, err error) {
	if err := s.ask(ctx, text); err != nil {
		return written{}, err
	}
	retry := func(err error) bool { return conflict(err) || patient && sqldialect.Busy(err) }
	err = sqlsession.Again(ctx, retry, func() error {
		result.failed = cmp.Or(result.failed, err)
		err = s.worded(func(w *wording) (err error) {
			write := sqlsession.Write{
				Text: w.fill(text), Values: a, NoWait: !patient, During: w.settings(),
				Autocommit: func(answer int64) bool { return answer%2 == 1 },
			}
			result.now, result.changed, err = write.Run(ctx, s.db, s.dialect)
			if s.dialect.IsMySQL() { // see {answer now}
				result.now /= 2
			}
			return err
		})
		return err
	})
	return result, err
}

// written is the result of a write.
type written struct {
	now     int64
	changed bool
	failed  error // the first error if the write was tried more than once, or nil
}

// explain converts a driver's error into the corresponding error of package lease.
func (s *Store) explain(err error) error {
	if err != nil && s.dialect.Missing(err) && misused(s.dialect, err) == "" {
		return fmt.Errorf("sqlstore: %w: %w", lease.ErrNotMigrated, err)
	}
	return s.explainFound(err)
}

// explainFound is like explain, but for errors that don't mean that a table is missing. In
// Migrate, it's the schema or database that is, which Migrate doesn't create.
func (s *Store) explainFound(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, sqlsession.ErrUnusable) || errors.Is(err, sqlsession.ErrNoDatabase) {
		return unusable(err)
	}
	if remedy := cmp.Or(misused(s.dialect, err), permanent(err)); remedy != "" {
		return &lease.PermanentError{Err: fmt.Errorf("sqlstore: %w", err), Remedy: remedy}
	}
	return fmt.Errorf("sqlstore: %w", err)
}

// unusable returns the error for a database or table whose error says what to do.
func unusable(err error) error {
	return &lease.PermanentError{Err: fmt.Errorf("sqlstore: %w", err), Remedy: "then start again"}
}

// misused returns what to do if the *sql.DB is of another kind of database, or closed. The
// drivers' errors show the kind.
func misused(d sqldialect.Dialect, err error) string {
	const another = "use the store of your database: sqlstore.Postgres, sqlstore.MySQL (also for MariaDB) or sqlstore.SQLite"
	isPostgres, isMySQL := sqldialect.SQLState(err) != "", sqldialect.Number(err) != 0
	switch text := err.Error(); {
	case strings.Contains(text, "sql: database is closed"):
		return "close the pool of ids before the *sql.DB, or open the *sql.DB again"
	case d == sqldialect.MySQL && isPostgres, d == sqldialect.Postgres && isMySQL, strings.Contains(text, "SQL logic error"), !isPostgres && !isMySQL && strings.Contains(text, "syntax error"):
		return another
	case sqldialect.SQLState(err) == "42601", sqldialect.Number(err) == 1064:
		return "use PostgreSQL 12, MySQL 8 or MariaDB 10.6, or later versions"
	}
	return ""
}

// permanent returns what to do about an error that a retry does not fix.
func permanent(err error) string {
	const remedy = "correct the user, password, database, schema or privileges; docs/leases.md lists what the store needs"
	state, number := sqldialect.SQLState(err), sqldialect.Number(err)
	switch {
	case sqldialect.ReadOnly(err) && state != "":
		return "connect to the primary, and set default_transaction_read_only = off for this role"
	case sqldialect.ReadOnly(err):
		return "connect to the primary, and set transaction_read_only = 0 for the sessions of this user"
	case strings.Contains(err.Error(), "must be run with standard_conforming_strings=on"): // returned by pgx with the simple protocol
		return "set standard_conforming_strings = on for this role"
	case errors.Is(err, sqlsession.ErrStandby):
		return "send all statements of Snowkey to the primary; docs/stores.md#proxies has the settings"
	case strings.HasPrefix(state, "28"), state == "42501", state == "3D000", state == "3F000",
		slices.Contains([]uint16{1044, 1045, 1046, 1049, 1142, 1143, 1227, 1370, 1410, 1698}, number):
		return remedy
	case state == "42703", number == 1054: // a column is missing
		return "the tables are of another version of Snowkey"
	}
	return ""
}

// args contains the values of parameters by name. Each of them is an int64 or a string.
type args map[string]any

// with adds the terms.
func (a args) with(t lease.Terms) args {
	a["namespace"], a["layout"] = t.Namespace, t.Layout
	a["epoch"], a["unit"], a["pertick"] = t.Epoch, t.Unit, t.PerTick
	a["ahead"], a["skew"], a["ttl"] = t.Ahead, t.Skew, t.TTL
	return a
}
