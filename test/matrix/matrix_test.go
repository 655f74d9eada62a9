// Package matrix tries every way of every integration to create a row, with every type
// of key, on every database.
//
// The suite consists of one table, [integrations], in which a cell is a way with a type
// of key on a server. The check is the same for all ways: either memory equals the
// table, or the call has failed with one of Snowkey's errors and hasn't written
// anything. Which of the two happens is for the test to find out. A run fails if
// README.md says otherwise. With -update, it writes the columns of its servers
// to the page.
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

var update = flag.Bool("update", false, "write the columns of this run's servers to README.md")

// An integration is a package that can create rows.
type integration struct {
	name    string
	only    string // the dialect that it is for; empty for all
	benches map[keyType]bench
}

var integrations = append(entIntegrations, gormIntegration, bunIntegration, pgxIntegration, sqlIntegration)

// A bench runs one integration with one type of key.
type bench interface {
	// open prepares the bench for a database that may have been used by other benches
	// before, and creates a table of items.
	open(t *testing.T, e env)
	// table returns the name of the table of items.
	table() string
	// ways returns all ways.
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
	dbtest.Exec(t, e.conn, "DROP TABLE IF EXISTS items", fmt.Sprintf(
		"CREATE TABLE items (id %s PRIMARY KEY, name VARCHAR(40) NOT NULL UNIQUE, n INT NOT NULL, parent_id %[1]s)", e.key.column()))
}

// A way is one of the ways to create rows.
type way struct {
	kind kind
	call string // how programs call it, for the page

	// create creates items and returns the items that are then in memory, with their
	// keys. Returns nil if the call doesn't return them.
	create create
}

type create func(ctx context.Context, items []item) (memory []item, err error)

func TestMatrix(t *testing.T) {
	if entIntegrations == nil {
		t.Log("without -tags clients, this test leaves out ent")
	}
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		outcomes := make(map[line]string)
		for _, in := range integrations {
			if in.only != "" && in.only != db.Dialect {
				continue
			}
			for key, b := range in.benches {
				t.Run(in.name+"/"+string(key), func(t *testing.T) {
					e := env{db, db.Connect(t), key, newSource()}
					b.open(t, e)
					for _, w := range b.ways() {
						outcome, err := e.run(t, b, w)
						if err != nil {
							t.Errorf("%s, %s: %v", w.kind, w.call, err)
							continue
						}
						l := line{in.name, string(w.kind), w.call}
						if other, ok := outcomes[l]; ok && other != outcome {
							t.Errorf("%s, %s: the outcome is %q with %s, and %q with other types of key", w.kind, w.call, outcome, key, other)
						}
						outcomes[l] = outcome
					}
				})
			}
		}
		if !t.Failed() {
			checkPage(t, db, outcomes)
		}
	})
}

// run creates the rows for a way's kind in an empty table, and returns the outcome.
func (e env) run(t *testing.T, b bench, w way) (outcome string, err error) {
	a := attempt{scenario: scenarios[w.kind], issued: e.source.issued}
	dbtest.Exec(t, e.conn, "DELETE FROM "+b.table())
	for _, i := range a.before {
		dbtest.Exec(t, e.conn, fmt.Sprintf("INSERT INTO %s (id, name, n) VALUES (%s, '%s', %d)", b.table(), e.key.literal(i.key), i.name, i.n))
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

// read returns the items of a table. It bypasses the integration and reads text, which
// makes sure that no number is rounded.
func (e env) read(ctx context.Context, table string) ([]item, error) {
	rows, err := e.conn.QueryContext(ctx, fmt.Sprintf(`SELECT i.id, i.name, i.n, CASE WHEN i.parent_id IS NULL THEN '' ELSE COALESCE(p.name, 'nobody') END
		FROM %s i LEFT JOIN %[1]s p ON p.id = i.parent_id`, table))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var items []item
	for rows.Next() {
		var i item
		var id string
		if err := rows.Scan(&id, &i.name, &i.n, &i.parent); err != nil {
			return nil, err
		}
		if i.key, err = e.key.parse(id); err != nil {
			return nil, fmt.Errorf("the table holds %q as the id of %s: %w", id, i.name, err)
		}
		items = append(items, i)
	}
	return items, rows.Err()
}
