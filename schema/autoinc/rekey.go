package autoinc

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// RekeyOptions are for a plan that replaces the values of keys by ids that have the time of
// their row. It suits keys of any type: integers, UUIDs, text and bytes. Each table gets a
// permanent table beside it, snowkey_map_TABLE, with the old and the new key of each row.
//
// With Online, most of the work is done before you have to stop the application: Postgres fills
// the new keys in columns beside the old ones, and builds their indexes; MySQL and MariaDB fill
// a copy of each table. Apply with HoldSwap to be told when.
type RekeyOptions struct {
	// Times are columns with the time of a row. The first one that a table has is used.
	// Defaults to created_at.
	Times []string `json:"times"`

	// From and To are for tables that have none of these columns. The times of their rows
	// are spread between the two, in the order of the old keys. Rows of other tables that
	// are older than From get ids of that time, in their order. This is for rows from
	// before the epoch of the ids' layout.
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`

	// KeepOld is the name of a column, such as old_id, that each table gets for its old keys.
	// It is unique. Rows that are inserted later have NULL there. Defaults to no column.
	KeepOld string `json:"keepOld,omitempty"`
}

// The phases of such a plan, in order.
const (
	MapKeys PhaseName = "map"   // gives each row its new key, in a table of its own
	Rekey   PhaseName = "rekey" // replaces the keys; the application must be stopped
)

var rekeyPhases = []PhaseName{MapKeys, Rekey}

// mapPrefix begins the names of maps, the tables with the old and the new keys. orderPrefix
// begins the names of tables with the order of the rows, which exist while a map is filled.
const mapPrefix, orderPrefix = "snowkey_map", "snowkey_order"

// mapName returns the name of the map for the keys of a table.
func mapName(table catalog.Name) catalog.Name { return beside(mapPrefix, table) }

// A holder is a column that holds values of a key, or of several if another column has its type.
type holder struct {
	key   catalog.Column
	typed bool
}

// completeRekey sets the defaults of RekeyOptions, and refuses options that don't go with them.
func (c *changes) completeRekey(d catalog.Dialect) error {
	options, rekey := &c.options, *c.options.Rekey
	if len(rekey.Times) == 0 {
		rekey.Times = []string{"created_at"}
	}
	options.Rekey = &rekey
	if options.LikelyChildren {
		return errors.New("autoinc: likely children have to be decided one by one, because their values are replaced; name each (Children, --child)")
	}
	if options.Online && d == catalog.SQLite {
		return errors.New("autoinc: SQLite can't fill new keys while the application runs; plan without --online (Online)")
	}
	if to := rekey.To; !to.IsZero() && to.Before(rekey.From) {
		return fmt.Errorf("autoinc: the times from %s to %s are in the wrong order", rekey.From, to)
	}
	return nil
}

// follow refuses what can't be done with the keys and their children, if they get other values.
func (c *changes) follow() error {
	c.holders = make(map[catalog.Column]holder)
	for _, k := range c.keys {
		c.holders[bare(k.Column)] = holder{key: k.Column}
	}
	for _, k := range c.keys {
		c.refuseRekey(k.Column, true)
		for _, fk := range k.ForeignKeys {
			at, typed := bare(fk.Child), fk.TypeColumn != ""
			switch other, known := c.holders[at]; {
			case !known:
				c.holders[at] = holder{k.Column, typed}
				c.refuseRekey(fk.Child, false)
			case typed != other.typed || !typed && !same(other.key, k.Column):
				c.refuse(fk.Child, "leave out the table whose key is itself a child's (Except, --except), since it follows its parent", "it holds keys of %s and of %s", c.column(other.key), c.column(k.Column))
			}
		}
	}
	for _, fk := range c.options.Children {
		used := func(other catalog.ForeignKey) bool {
			same := fk.Child.Name == other.Child.Name && fk.Parent.Name == other.Parent.Name && fk.TypeValue == other.TypeValue
			return same && other.Undeclared && named(fk.Child.Table, other.Child.Table) && named(fk.Parent.Table, other.Parent.Table)
		}
		if len(c.keys) > 0 && !slices.ContainsFunc(c.keys, func(k catalog.Key) bool { return slices.ContainsFunc(k.ForeignKeys, used) }) {
			return fmt.Errorf("autoinc: %w: the child %s needs a parent among the keys that are replaced, and has %q; name it, and for keys of several tables also the type, as in --child items.owner_id=users.id,owner_type=User",
				catalog.ErrColumn, c.column(fk.Child), strings.Trim(fk.Parent.Table.Name+"."+fk.Parent.Name, "."))
		}
	}
	c.refuseSplit()
	for _, k := range c.report.Keys { // a child may be the key of its table
		if _, holds := c.holders[bare(k.Column)]; holds {
			c.refuseUndecided(k.Findings)
		}
	}
	c.refuseUndecided(c.report.Findings)
	return nil
}

// rekeyable matches the types of keys that can get other values.
var rekeyable = regexp.MustCompile(`(?i)^(((tiny|small|medium|big)?int(eger)?|uuid|bytea|text|character( varying)?|(var)?(char|binary))(\([0-9]+\))?( unsigned)?)$`)

func (c *changes) refuseRekey(held catalog.Column, key bool) {
	at := c.columns[bare(held)]
	c.refuseName(held)
	if c.Dialect != catalog.SQLite && !rekeyable.MatchString(held.Type) {
		c.refuse(held, "leave out the table of the key (Except, --except)", "it is %s, and only integers, uuid, text and bytes are replaced", held.Type)
	}
	if at.computed {
		c.refuse(held, "drop it and add it again as bigint afterwards", "it is a generated column")
	}
	if key && slices.ContainsFunc(c.of[held.Table], func(other column) bool { return strings.EqualFold(other.Name, c.options.Rekey.KeepOld) }) {
		c.refuse(held, "choose another name for the column with the old keys (KeepOld, --keep-old)", "its table has a column %s already", c.Quote(c.options.Rekey.KeepOld))
	}
	if at.fallback && !key {
		c.refuse(held, "drop its default", "it has a default, which would be an old key")
	}
}

// refuseSplit refuses foreign keys of which only one side gets other values.
func (c *changes) refuseSplit() {
	for _, f := range c.report.References {
		for i, name := range f.Columns {
			child := catalog.Column{Table: f.Child, Name: name}
			holds, known := c.holders[child]
			if parent := c.holders[catalog.Column{Table: f.Parent, Name: f.Keys[i]}]; known && !same(parent.key, holds.key) {
				c.refuse(child, "drop that foreign key", "it holds keys of %s, and its foreign key %s references %s, which has others", c.column(holds.key), c.Quote(f.Name), c.name(f.Parent))
			}
		}
	}
}

// A rekeying is what the phase Rekey changes: columns by table, the keys whose values each of
// them holds, and the foreign keys of these columns.
type rekeying struct {
	byTable
	keys       map[catalog.Name]catalog.Key // of tables whose own key gets other values
	held       map[catalog.Column][]holding
	references []catalog.Reference
	keepOld    string // the column that tables get for their old keys, if any
	lost       string // a function that fails for a value without a new key, if there is one
}

// kept returns the column that a table gets for its old keys, if any.
func (r rekeying) kept(table catalog.Name) string {
	if _, own := r.keys[table]; own {
		return r.keepOld
	}
	return ""
}

// A holding is a table whose keys a column holds. If they are several, the column kind says
// with the value whose key it is.
type holding struct {
	of          catalog.Name
	kind, value string
}

// rekeyPlan plans the phase MapKeys, and what comes first in the phase Rekey. The columns of
// a partition are altered with those of its root.
func (p *planner) rekeyPlan(ctx context.Context, conn *sql.Conn) (r rekeying, err error) {
	p.note(MapKeys, "Each row gets its new key, in a table of its own. The application may run meanwhile: rows that come later get theirs in the next phase.")
	stop := "Stop the application before this phase, and start"
	if p.options.Online {
		stop = "Begin this phase with --hold-swap while the application runs: it fills new columns beside the old ones, or copies of the tables, with their indexes. When it waits, stop the application, and call snowkey migrate control continue, which reads each table a few times and rewrites none. Start"
	}
	p.note(Rekey, "%s a release whose keys are int64 and generated after it. Rows that were mapped keep their new key; the map stays, so that old keys can be found.", stop)
	for _, k := range p.keys {
		for _, f := range k.Findings {
			if f.Kind == catalog.KeysInText {
				p.note(Rekey, "These values are not replaced: %s. Replace them by the map, as docs/services.md shows.", f.Text)
			}
		}
	}
	r.keys, r.held, r.keepOld = make(map[catalog.Name]catalog.Key), make(map[catalog.Column][]holding), p.options.Rekey.KeepOld
	var altered []catalog.Column
	for _, k := range p.keys {
		r.keys[p.root(k.Column.Table)] = k
		for _, fk := range append([]catalog.ForeignKey{{Child: k.Column}}, k.ForeignKeys...) {
			c := fk.Child
			c.Table = p.root(c.Table)
			altered = append(altered, c)
			at, h := bare(c), holding{k.Column.Table, fk.TypeColumn, fk.TypeValue}
			if !slices.Contains(r.held[at], h) {
				r.held[at] = append(r.held[at], h)
			}
		}
	}
	r.byTable = group(altered)
	for _, f := range p.report.References { // those of other columns too, because whole tables are written again
		if r.columns[p.root(f.Child)] != nil || r.columns[p.root(f.Parent)] != nil {
			r.references = append(r.references, f)
		}
	}
	if err := p.checkOrphans(ctx, conn, MapKeys, r.references); err != nil {
		return r, err
	}
	for _, k := range p.keys {
		if of := mapName(k.Column.Table); p.of[of] != nil && p.compared == nil {
			p.refuse(k.Column, "drop it if nobody needs the old keys any more, or rename it", "there is a table %s of an earlier plan", p.name(of))
		}
	}
	p.mapKeys(MapKeys)
	return r, nil
}

// mapLate adds the steps of the phase Rekey that give a new key to rows which have none yet.
func (p *planner) mapLate(r rekeying) {
	for _, table := range r.tables {
		p.countRows(Rekey, table)
	}
	p.mapKeys(Rekey)
}

// maps returns the maps of the keys that a column of a row holds. Each comes with a condition,
// to be written after its name, for the row whose old or new key the column has.
func (r rekeying) maps(s server, c catalog.Column, row, has string) (names, conditions []string) {
	value := row + "." + s.Quote(c.Name)
	for _, h := range r.held[bare(c)] {
		condition := "." + has + " = " + value
		if h.kind != "" {
			condition += " AND " + row + "." + s.Quote(h.kind) + " = " + s.Literal(h.value)
		}
		names, conditions = append(names, s.name(mapName(h.of))), append(conditions, condition)
	}
	return names, conditions
}

// join returns joins of the table t with the maps of its column number n, and the other value
// of the column.
func (r rekeying) join(s server, c catalog.Column, n int, has, gives, otherwise string) (joins, value string) {
	names, conditions := r.maps(s, c, "t", has)
	for i, name := range names {
		m := fmt.Sprintf("m%d_%d", n, i)
		joins += fmt.Sprintf(" LEFT JOIN %s AS %s ON %[2]s%s", name, m, conditions[i])
		value += m + "." + gives + ", "
	}
	return joins, "COALESCE(" + value + otherwise + ")"
}

// copied returns the columns of a copy of a table, and their values in a row of the table t with
// joins: the other key for each that it holds, and else what is there.
func (r rekeying) copied(s server, table catalog.Name, names []string, has, gives string) (columns, values []string, joins string) {
	for i, name := range names {
		value := "t." + s.Quote(name)
		c := catalog.Column{Table: table, Name: name}
		if r.held[c] != nil {
			otherwise, join := "NULL", ""
			if r.lost != "" && gives == "new" {
				otherwise = fmt.Sprintf("CASE WHEN %s IS NOT NULL THEN %s(%s, %[1]s::text) END", value, r.lost, s.Literal(s.column(c)))
			}
			join, value = r.join(s, c, i, has, gives, otherwise)
			joins += join
		}
		columns, values = append(columns, name), append(values, value)
	}
	if kept := r.kept(table); kept != "" && gives == "new" {
		columns, values = append(columns, kept), append(values, "t."+s.Quote(r.keys[table].Column.Name))
	}
	return columns, values, joins
}

// lookup returns the new key for the value of a column in a row.
func (r rekeying) lookup(s server, c catalog.Column, row string) string {
	names, conditions := r.maps(s, c, row, "old")
	return "COALESCE(" + database.Joined(names, ", ", func(i int, name string) string {
		return fmt.Sprintf("(SELECT m.new FROM %s AS m WHERE m%s)", name, conditions[i])
	}) + ")"
}

// unmapped returns a query for rows that meet the conditions, and in which a column has a value
// that no map has.
func (r rekeying) unmapped(s server, c catalog.Column, selected, has string, where ...string) string {
	where = append(where, "t."+s.Quote(c.Name)+" IS NOT NULL")
	names, conditions := r.maps(s, c, "t", has)
	for i, name := range names {
		where = append(where, fmt.Sprintf("NOT EXISTS (SELECT 1 FROM %s AS m WHERE m%s)", name, conditions[i]))
	}
	return fmt.Sprintf("SELECT %s FROM %s AS t WHERE %s", selected, s.name(c.Table), strings.Join(where, and))
}

// mapKeys adds the steps that fill the map of each key, as far as rows aren't in it. Before
// that, they check the times of all rows.
func (p *planner) mapKeys(phase PhaseName) {
	var times []string
	for _, k := range p.keys {
		times = append(times, p.rowTime(phase, k.Column))
	}
	for i, k := range p.keys {
		p.mapKey(phase, k.Column, times[i])
	}
}

// rowTime returns SQL for the time of a row, in microseconds since 1970, and adds the steps
// that check it.
func (p *planner) rowTime(phase PhaseName, key catalog.Column) (at string) {
	table, id, timeless := p.name(key.Table), p.Quote(key.Name), false
	options := p.options.Rekey
	for _, name := range options.Times {
		for _, c := range p.of[key.Table] {
			kind := strings.ToLower(c.Type)
			isTime := p.Dialect == catalog.SQLite || strings.HasPrefix(kind, "date") || strings.HasPrefix(kind, "timestamp")
			if at == "" && strings.EqualFold(c.Name, name) && isTime {
				at, timeless = p.fill("microseconds", "{column}", p.Quote(c.Name)), c.nullable || p.Dialect == catalog.SQLite
			}
		}
	}
	switch from, to := options.From.UnixMicro(), options.To.UnixMicro(); {
	case at != "":
	case options.To.IsZero():
		p.refuse(key, "name a column with a time (Times, --time), or spread the times of the rows (From and To, --from and --to), or leave the table out (Except, --except)",
			"its table has none of the columns %q with the time of a row", options.Times)
	case phase == Rekey: // these rows come after those that the application had before
		at = fmt.Sprint(to)
	default:
		at = p.fill("spread", "{from}", fmt.Sprint(from), "{span}", fmt.Sprint(to-from), "{key}", id)
	}
	if timeless {
		missing := fmt.Sprintf("SELECT %s FROM %s WHERE %s IS NULL LIMIT 1", id, table, at)
		p.add(phase, Step{Text: "check that each row of " + table + " has a time", Run: Check, SQL: missing, Remedy: "set the times of these rows, and apply again"})
	}
	if phase == MapKeys {
		p.add(phase, Step{Text: "check that ids can have the times of the rows of " + table, Run: timing, SQL: fmt.Sprintf("SELECT %s AS at FROM %s", at, table)})
	}
	return at
}

func (p *planner) mapKey(phase PhaseName, key catalog.Column, at string) {
	order := beside(orderPrefix, key.Table)
	table, of, id := p.name(key.Table), p.name(mapName(key.Table)), p.Quote(key.Name)
	fill := func(query string) string {
		return p.fill(query, "{table}", table, "{map}", of, "{order}", p.name(order), "{key}", id, "{type}", key.Type)
	}
	rest := ""
	if phase == Rekey {
		rest = fmt.Sprintf(" WHERE NOT EXISTS (SELECT 1 FROM %s AS m WHERE m.old = %s.%s)", of, table, id)
		if p.options.Online && p.Dialect == catalog.Postgres {
			rest += " AND " + p.Quote(p.fresh(key)) + " IS NULL" // which is faster to find
		}
	} else {
		p.createTable(phase, mapName(key.Table), "make the table with the old and the new keys of "+table, fill("create map"))
	}
	p.createTable(phase, order, "make a table with the order of the rows of "+table, fill("create order"))
	p.add(phase, Step{
		Text: "sort the rows of " + table + " that have no new key, by time", Unit: p.begin(), Locks: "nothing; it reads the table once",
		SQL: fmt.Sprintf("INSERT INTO %s (n, old, at) SELECT row_number() OVER (ORDER BY at, old), old, at FROM (SELECT %s AS old, %s AS at FROM %s%s) AS r", p.name(order), id, at, table, rest),
	})
	p.add(phase, Step{Text: "give these rows of " + table + " new keys", Run: assigning, SQL: fill("assign"), Size: fill("next in order"), Locks: "nothing"})
	drop := Step{Text: "drop the table with the order", SQL: "DROP TABLE " + p.name(order), Locks: "nothing"}
	p.addDDL(phase, drop, order, 0)
	if p.Dialect == catalog.Postgres && phase == MapKeys { // the indexes of a full table are built faster
		p.add(phase, Step{Text: "build the indexes of the map", SQL: "ALTER TABLE " + of + " ADD PRIMARY KEY (old), ADD UNIQUE (new)", Unit: p.begin(), Locks: "nothing"})
		p.add(phase, Step{Text: "let the server know the size of the map", SQL: "ANALYZE " + of, Unit: p.begin(), Locks: "nothing"})
	}
}

// createTable adds a step that creates a table.
func (p *planner) createTable(phase PhaseName, table catalog.Name, text, create string) {
	p.addDDL(phase, Step{Text: text, SQL: create, Locks: "nothing", Undo: []string{"DROP TABLE IF EXISTS " + p.name(table)}}, table, 1)
}

// addDDL adds a step that creates or drops a table. It runs in a transaction where the
// server can do that. Otherwise the step is done if there are n such tables.
func (p *planner) addDDL(phase PhaseName, s Step, table catalog.Name, n int) {
	if p.IsMySQL() {
		s.Done = p.listed(n, "TABLES", "TABLE", table, "")
	} else {
		s.Unit = p.begin()
	}
	p.add(phase, s)
}

// assigning is how we run a step that gives rows new keys, a batch at a time. Its Size is a
// query for their times.
const assigning = "assign"

const assignTo = "INSERT INTO "

// timing is how we run a step that checks, before anything is changed, whether ids can have
// the times of rows.
const timing = "times"

func (a *applier) checkTimes(ctx context.Context, s Step) error {
	type extent struct{ first, last sql.Null[int64] }
	rows := " FROM (" + s.SQL + ") AS t"
	found, err := database.One(ctx, a.conn, "SELECT min(at), max(at)"+rows, func(e *extent) []any { return []any{&e.first, &e.last} })
	if err != nil || !found.first.Valid {
		return err
	}
	_, err = a.ids("the check of "+s.ID, []int64{found.first.V, found.last.V})
	var outside interface{ Start() time.Time }
	if !errors.As(err, &outside) || found.first.V >= outside.Start().UnixMicro() {
		return err
	}
	n, err := database.One(ctx, a.conn, fmt.Sprintf("SELECT count(*)%s WHERE at < %d", rows, outside.Start().UnixMicro()), database.Number)
	if err != nil {
		return err
	}
	return fail(ErrPhase, "%d rows are from before %s, when the ids begin; plan again with From (--from) at that time or later, whose ids such rows then get, or use a layout with an earlier epoch (--layout)",
		n, outside.Start().Format(time.RFC3339))
}

// ids returns ids for rows with the given times, in microseconds since 1970.
func (a *applier) ids(table string, micros []int64) ([]int64, error) {
	if a.options.IDs == nil {
		return nil, fail(ErrPhase, "the plan needs ids, and there is no source for them; set IDs to the method At of a Backfill from snowkey.OpenBackfill")
	}
	times := make([]time.Time, len(micros))
	for i, at := range micros {
		times[i] = time.UnixMicro(max(at, a.plan.rekey.From.UnixMicro()))
	}
	ids, err := a.options.IDs(table, times)
	if err == nil && len(ids) != len(times) {
		err = fmt.Errorf("there are %d ids for %d rows", len(ids), len(times))
	}
	return ids, err
}

// assign returns the argument for the SQL of a batch, with ids that have the times of rows.
func (a *applier) assign(s Step, rows []batched) ([]any, error) {
	table, _, _ := strings.Cut(strings.TrimPrefix(s.SQL, assignTo), " (old, new)")
	micros := make([]int64, len(rows))
	for i, r := range rows {
		micros[i] = r.at
	}
	ids, err := a.ids(table, micros)
	if err != nil {
		return nil, err
	}
	pairs := make([][2]int64, len(ids))
	for i, id := range ids {
		pairs[i] = [2]int64{rows[i].last, id}
	}
	list, err := json.Marshal(pairs)
	return []any{string(list)}, err
}

const unmappedRemedy = "if such rows were written since the rows were sorted, stop the application, call snowkey migrate undo --phase rekey, and apply again; delete or mend rows that reference nothing"

// checkMapped returns a step that looks for a value of a column that has no new key.
func (p *planner) checkMapped(c catalog.Column, r rekeying, where ...string) Step {
	return Step{
		Text: fmt.Sprintf("check that each value of %s has a new key", p.column(c)), Run: Check, Locks: "nothing; it reads the table once",
		SQL:    r.unmapped(p.server, c, "t."+p.Quote(c.Name), "old", where...) + " LIMIT 1",
		Remedy: unmappedRemedy,
	}
}

// checkUndo returns a step that does nothing, and keeps an undo from starting if columns have
// values without an old key, whose rows it would lose.
func (p *planner) checkUndo(r rekeying) Step {
	without := database.Joined(r.all(), " UNION ALL ", func(_ int, c catalog.Column) string {
		selected := p.Literal(c.Table.Name+"."+c.Name) + " AS col, count(*) AS without_old_key"
		return "SELECT * FROM (" + r.unmapped(p.server, c, selected, "new") + ") AS c WHERE without_old_key > 0"
	})
	return Step{
		Text: "begin, after which rows with other keys may be inserted", Run: Count, SQL: "SELECT 0", Locks: "nothing", UndoChecks: []string{without},
		Remedy: "such rows were inserted with generated keys; delete them, or give each a free old key: INSERT INTO snowkey_map_… (old, new) …",
	}
}

// verifyMaps compares the rows with the maps of a plan with RekeyOptions.
func (v *verifier) verifyMaps(ctx context.Context) error {
	count := func(format string, args ...any) (int64, error) {
		return database.One(ctx, v.conn, fmt.Sprintf("SELECT count(*) FROM "+format, args...), database.Number)
	}
	for _, k := range v.plan.keys {
		table, of, id := v.name(k.Column.Table), v.name(mapName(k.Column.Table)), v.Quote(k.Column.Name)
		switch {
		case v.of[mapName(k.Column.Table)] == nil:
			v.say(table, Refuted, "the map %s is not there", of)
			continue
		case v.columns[bare(k.Column)].Bits == 0:
			continue // already refuted by verifyWidths
		}
		type counts struct{ mapped, rows, entries int64 }
		n, err := database.One(ctx, v.conn, fmt.Sprintf("SELECT (SELECT count(*) FROM %s AS t JOIN %s AS m ON m.new = t.%s), (SELECT count(*) FROM %[1]s), (SELECT count(*) FROM %[2]s)", table, of, id),
			func(n *counts) []any { return []any{&n.mapped, &n.rows, &n.entries} })
		if err != nil {
			return err
		}
		verdict, text := Proven, fmt.Sprintf("%d rows have the new key that the map has", n.mapped)
		if n.rows > n.mapped || n.entries > n.mapped {
			verdict, text = Open, fmt.Sprintf("%s; %d rows are not in the map, if they were inserted since; %d of its rows are gone, if they were deleted", text, n.rows-n.mapped, n.entries-n.mapped)
		}
		v.say(table, verdict, "%s", text)
		if kept := v.plan.rekey.KeepOld; kept != "" {
			other, err := count("%s AS t JOIN %s AS m ON m.new = t.%s WHERE t.%s IS NULL OR t.%[4]s <> m.old", table, of, id, v.Quote(kept))
			if err != nil {
				return err
			}
			v.prove(table+"."+v.Quote(kept), other == 0, "each row of the map has its old key there", fmt.Sprintf("%d rows have another old key there than in the map", other))
		}
		for _, c := range k.columns() {
			if k.Column.Bits == 0 {
				break // no column of integers has such a key
			}
			left, err := count("%s AS t JOIN %s AS m ON m.old = t.%s", v.name(c.Table), of, v.Quote(c.Name))
			if err != nil {
				return err
			}
			if left > 0 {
				v.say(v.column(c), Refuted, "%d of its values are old keys", left)
			}
		}
	}
	for _, fk := range v.plan.children {
		var where []string
		if fk.TypeColumn != "" {
			where = append(where, "c."+v.Quote(fk.TypeColumn)+" = "+v.Literal(fk.TypeValue))
		}
		r := catalog.Reference{Child: fk.Child.Table, Columns: []string{fk.Child.Name}, Parent: fk.Parent.Table, Keys: []string{fk.Parent.Name}}
		parent := v.name(r.Parent)
		if err := v.none(ctx, v.column(fk.Child), v.orphans(r, where...), "each of its values is a key of "+parent, "a value is no key of "+parent); err != nil {
			return err
		}
	}
	return nil
}
