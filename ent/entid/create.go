package entid

import (
	"context"
	"slices"
	"strings"

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/sqlgraph"
	"entgo.io/ent/schema/field"
)

// CreateNode replaces sqlgraph.CreateNode in code generated with the entidgen extension.
// Existing rows keep their ids no matter how a conflict is resolved.
//
// On MySQL, an upsert reports the id of the row if it's a number. For text ids, an upsert
// with edges returns a [*RowError], as in BatchCreate.
func CreateNode(ctx context.Context, drv dialect.Driver, spec *sqlgraph.CreateSpec) error {
	statement, err := tried(spec.OnConflict)
	mysql := statement != "" && drv.Dialect() == dialect.MySQL
	switch {
	case err != nil: // ent returns the error
	case mysql && hasNumber(spec):
		reportID(spec, doesNothing(statement))
	case mysql && hasEdges(spec):
		return strayEdges(spec)
	default:
		spec.OnConflict = keepID(spec.OnConflict, spec)
	}
	return sqlgraph.CreateNode(ctx, drv, spec)
}

// BatchCreate replaces sqlgraph.BatchCreate in code generated with the entidgen extension.
// Existing rows keep their ids no matter how a conflict is resolved, and the database isn't
// asked for ids it has only just been sent.
//
// With edges in other tables, ent sometimes can't know the ids of the rows they belong to.
// This is the case for DoNothing, and for any upsert on MySQL. BatchCreate then returns a
// [*RowError] without inserting anything.
func BatchCreate(ctx context.Context, drv dialect.Driver, spec *sqlgraph.BatchCreateSpec) error {
	if len(spec.Nodes) == 0 {
		return nil
	}
	statement, err := tried(spec.OnConflict)
	nothing := doesNothing(statement)
	if slices.ContainsFunc(spec.Nodes, hasEdges) {
		if nothing || drv.Dialect() == dialect.MySQL && statement != "" {
			return strayEdges(spec.Nodes[0])
		}
	} else if (nothing || len(spec.OnConflict) == 0) && !slices.ContainsFunc(spec.Nodes, lacksID) {
		spec = plain(spec)
	}
	if err == nil { // otherwise ent returns the error
		spec.OnConflict = keepID(spec.OnConflict, spec.Nodes[0])
	}
	return sqlgraph.BatchCreate(ctx, drv, spec)
}

func strayEdges(n *sqlgraph.CreateSpec) error {
	return &RowError{Package: "entid", Model: n.Table, Row: -1,
		Problem: "may exist, and its edges would be stored under another id, because the database does not report the ids of existing rows",
		Remedy:  "add the edges after the upsert, or use Ignore instead of DoNothing where the database is not MySQL; nothing was inserted"}
}

// plain returns the same rows with their ids as ordinary columns. ent then leaves out
// RETURNING, which makes the database send all ids back.
func plain(spec *sqlgraph.BatchCreateSpec) *sqlgraph.BatchCreateSpec {
	rows := *spec
	rows.Nodes = make([]*sqlgraph.CreateSpec, len(spec.Nodes))
	nodes := make([]sqlgraph.CreateSpec, len(spec.Nodes))
	for i, n := range spec.Nodes {
		nodes[i] = *n
		nodes[i].ID = nil
		nodes[i].Fields = append(slices.Clip(n.Fields), n.ID)
		rows.Nodes[i] = &nodes[i]
	}
	return &rows
}

func lacksID(n *sqlgraph.CreateSpec) bool { return n.ID == nil || n.ID.Value == nil }

// hasEdges reports whether ent writes edges of a row to other tables, for which it needs
// the id of the row.
func hasEdges(n *sqlgraph.CreateSpec) bool {
	return slices.ContainsFunc(n.Edges, func(e *sqlgraph.EdgeSpec) bool {
		return e.Rel != sqlgraph.M2O && (e.Rel != sqlgraph.O2O || !e.Inverse)
	})
}

// keepID adds an option that takes the id out of what the others update.
func keepID(options []sql.ConflictOption, n *sqlgraph.CreateSpec) []sql.ConflictOption {
	if len(options) == 0 || n.ID == nil {
		return options
	}
	column := n.ID.Column
	return append(slices.Clip(options), sql.ResolveWith(func(u *sql.UpdateSet) {
		if slices.Contains(u.UpdateColumns(), column) {
			u.SetIgnore(column)
		}
	}))
}

// hasNumber reports whether the id of a row is sent to the database as a number.
func hasNumber(n *sqlgraph.CreateSpec) bool {
	if n.ID == nil {
		return false
	}
	id, ok := n.ID.Value.(interface{ GormDataType() string })
	return ok && id.GormDataType() == "bigint"
}

// reportID makes MySQL report the id of the row that an upsert inserts or changes, and ent
// read it. ent does this itself for numbers that the database assigns.
func reportID(n *sqlgraph.CreateSpec, nothing bool) {
	options, column := n.OnConflict, n.ID.Column
	if nothing { // ent would ignore the conflict after our option, and override it
		options = []sql.ConflictOption{sql.ResolveWithIgnore()}
	}
	n.OnConflict = append(slices.Clip(options), sql.ResolveWith(func(u *sql.UpdateSet) {
		u.Set(column, sql.Expr("LAST_INSERT_ID("+u.Table().C(column)+")"))
	}))
	n.ID.Type, n.ID.Value = field.TypeInt64, sql.Expr("LAST_INSERT_ID(?)", n.ID.Value)
}

// tried returns a statement with these options, or "" if there are none. Their effect
// can't be read in any other way.
func tried(options []sql.ConflictOption) (string, error) {
	if len(options) == 0 {
		return "", nil
	}
	query, _, err := sql.Dialect(dialect.Postgres).Insert("t").Columns("c").Values(1).OnConflict(options...).QueryErr()
	return query, err
}

func doesNothing(statement string) bool { return strings.HasSuffix(statement, " DO NOTHING") }
