// Package matrix runs every way to create a row, of every integration, with every type
// of key, on every database. It writes the outcomes to files.
//
// The suite is one table, [integrations], of which a cell is a way with a type of key
// on a server. All ways have the same check. Afterwards memory equals the table, or the
// call has failed with an error of Snowkey and has written nothing. The test finds out
// which of the two happened. testdata has the outcomes of each server, and
// docs/integrations.md is made from it. A run that differs from either fails. A run
// with -update writes both again.
//
// A run has MySQL or MariaDB, not both. It compares and writes the outcomes of its
// servers, and keeps the others.
package matrix

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

var update = flag.Bool("update", false, "write the outcomes of this run's servers, and docs/integrations.md")

// An integration is a package that creates rows.
type integration struct {
	name    string
	page    string // in docs
	servers []string
	benches map[keyType]bench
	without string // why it has no bench for the other types of key
}

var integrations = append(entIntegrations, gormIntegration, bunIntegration, pgxIntegration, sqlIntegration)

// A bench is an integration at work with one type of key.
type bench interface {
	// open prepares the bench, with a table of items, for a database that other benches
	// may have used.
	open(t *testing.T, e env)
	// table is the name of the table of items.
	table() string
	// ways may be asked before open.
	ways() []way
}

// An env is what a bench works with.
type env struct {
	db     dbtest.DB
	conn   *sql.DB // also for the checks
	key    keyType
	source *source
}

// createItems makes the table for integrations that do not make it themselves.
func (e env) createItems(t *testing.T) {
	t.Helper()
	for _, statement := range []string{
		"DROP TABLE IF EXISTS items",
		fmt.Sprintf("CREATE TABLE items (id %s PRIMARY KEY, name VARCHAR(40) NOT NULL UNIQUE, n INT NOT NULL, parent_id %[1]s)", e.key.column()),
	} {
		if _, err := e.conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// A way is one way to create rows.
type way struct {
	kind kind
	call string // how a program says it, for the page

	// create creates items and returns them as they are in memory afterwards: with
	// their keys, or nil if the call does not return them. It is nil if there is no
	// such way, with a reason.
	create  create
	without string
}

type create func(ctx context.Context, items []item) (memory []item, err error)

// none is a kind that an integration has no way for.
func none(k kind, reason string) way { return way{kind: k, without: reason} }

func TestMatrix(t *testing.T) {
	if *update && entIntegrations == nil {
		t.Fatal("-update needs the outcomes of ent: set -tags clients")
	}
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		server := serverOf(db)
		r := readResults(t, server)
		for _, in := range integrations {
			if !in.has(server) {
				continue
			}
			for _, key := range keyTypes {
				if b := in.benches[key]; b != nil {
					t.Run(in.name+"/"+string(key), func(t *testing.T) {
						e := env{db, db.Connect(t), key, newSource()}
						b.open(t, e)
						r.settle(t, in, key, e.runAll(t, in, b))
					})
				}
			}
		}
		r.version = db.Version
		if *update && !t.Failed() {
			r.write(t)
		}
	})
	if entIntegrations == nil {
		t.Log("without -tags clients, this test leaves out ent and docs/integrations.md")
		return
	}
	checkPage(t)
}

// runAll returns the outcome of each way.
func (e env) runAll(t *testing.T, in integration, b bench) map[line]string {
	outcomes := make(map[line]string)
	for _, w := range b.ways() {
		if w.create == nil {
			continue
		}
		outcome, err := e.run(t, b, w)
		if err != nil {
			t.Errorf("%s, %s: %v", w.kind, w.call, err)
		}
		outcomes[in.line(w)] = outcome
	}
	return outcomes
}

// run creates the rows of a way's kind in an empty table and returns the outcome.
func (e env) run(t *testing.T, b bench, w way) (outcome string, err error) {
	a := attempt{scenario: scenarios[w.kind], issued: e.source.issued}
	e.exec(t, "DELETE FROM "+b.table())
	for _, i := range a.before {
		e.exec(t, fmt.Sprintf("INSERT INTO %s (id, name, n) VALUES (%s, '%s', %d)", b.table(), e.key.literal(i.key), i.name, i.n))
	}
	e.source.left = -1
	if a.fails {
		e.source.left = 3
	}
	ctx := context.WithValue(t.Context(), sourceKey{}, e.source)
	a.memory, a.err = w.create(ctx, a.items)
	if a.after, err = e.read(ctx, b.table()); err != nil {
		return "", err
	}
	if !a.rolledBack {
		return a.outcome()
	}
	if err := a.leftNothing(); err != nil {
		return "", err
	}
	// The same rows again, which now have their keys.
	ways := b.ways()
	again := ways[slices.IndexFunc(ways, func(w way) bool { return w.kind == slice })]
	a.items = a.memory
	a.memory, a.err = again.create(ctx, a.items)
	if a.after, err = e.read(ctx, b.table()); err != nil {
		return "", err
	}
	return a.outcome()
}

func (e env) exec(t *testing.T, statement string) {
	t.Helper()
	if _, err := e.conn.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// read returns the items of a table, past the integration and as text, so that no
// number is rounded on the way.
func (e env) read(ctx context.Context, table string) ([]item, error) {
	rows, err := e.conn.QueryContext(ctx, "SELECT id, name, n, parent_id FROM "+table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var items []item
	var parents []sql.NullString
	names := make(map[string]string) // of the rows by their ids
	for rows.Next() {
		var i item
		var id, parent sql.NullString
		if err := rows.Scan(&id, &i.name, &i.n, &parent); err != nil {
			return nil, err
		}
		if i.key, err = e.key.parse(id.String); err != nil {
			return nil, fmt.Errorf("the table holds %q as the id of %s: %w", id.String, i.name, err)
		}
		items, parents = append(items, i), append(parents, parent)
		names[id.String] = i.name
	}
	for i, parent := range parents {
		if !parent.Valid {
			continue
		}
		name, ok := names[parent.String]
		if !ok {
			return nil, fmt.Errorf("the table holds %q as the parent of %s, which is nobody's id", parent.String, items[i].name)
		}
		items[i].parent = name
	}
	return items, rows.Err()
}
