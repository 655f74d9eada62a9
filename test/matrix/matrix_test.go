// Package matrix tries every way of every integration to create a row, with every type
// of key, on every database. It writes the outcomes to files.
//
// The suite consists of one table, [integrations], in which a cell is a way with a type
// of key on a server. The check is the same for all ways: either memory equals the
// table, or the call has failed with one of Snowkey's errors and hasn't written
// anything. Which of the two happens is for the test to find out. The outcomes for each
// server are in testdata, and are the source of docs/integrations.md. If a run differs
// from either of them, it fails. With -update, it writes both instead.
//
// Note that a run has either MySQL or MariaDB, but never both. It only compares and
// writes the outcomes for its own servers, and leaves all others alone.
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

// An integration is a package that can create rows.
type integration struct {
	name    string
	page    string // in the folder docs
	servers []string
	benches map[keyType]bench
	without string // the reason why it has no bench for the other types of key
}

var integrations = append(entIntegrations, gormIntegration, bunIntegration, pgxIntegration, sqlIntegration)

// A bench runs one integration with one type of key.
type bench interface {
	// open prepares the bench for a database that may have been used by other benches
	// before, and creates a table of items.
	open(t *testing.T, e env)
	// table returns the name of the table of items.
	table() string
	// ways returns all ways. It may be called before open.
	ways() []way
}

// An env is what a bench needs to run.
type env struct {
	db     dbtest.DB
	conn   *sql.DB // also used by the checks
	key    keyType
	source *source
}

// createItems creates the table, unless the integration does that itself.
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

// A way is one of the ways to create rows.
type way struct {
	kind kind
	call string // how programs call it, for the page

	// create creates items and returns the items that are then in memory, with their
	// keys. Returns nil if the call doesn't return them. If an integration has no way
	// of this kind, create itself is nil, and without gives the reason.
	create  create
	without string
}

type create func(ctx context.Context, items []item) (memory []item, err error)

// none is a kind for which an integration has no way.
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

// runAll returns the outcomes of all ways.
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

// run creates the rows for a way's kind in an empty table, and returns the outcome.
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
	// Create the same rows again, now that they have their keys.
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

// read returns the items of a table. It bypasses the integration and reads text, which
// makes sure that no number is rounded.
func (e env) read(ctx context.Context, table string) ([]item, error) {
	rows, err := e.conn.QueryContext(ctx, "SELECT id, name, n, parent_id FROM "+table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var items []item
	var parents []sql.NullString
	names := make(map[string]string) // names of the rows, by id
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
