package main

import (
	"context"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/snowkey-go/snowkey/examples/ent/ent"
	entevent "github.com/snowkey-go/snowkey/examples/ent/ent/event"
	_ "github.com/snowkey-go/snowkey/examples/ent/ent/runtime" // registers the hooks of the schema
	"github.com/snowkey-go/snowkey/schema/pk"
)

// entJournal stores events using ent.
type entJournal struct {
	client *ent.Client
	kind   string
}

func openEnt(ctx context.Context, db database) (entJournal, error) {
	j := entJournal{ent.NewClient(ent.Driver(entsql.OpenDB(db.kind, db.DB))), db.kind}
	return j, j.client.Schema.Create(ctx)
}

func (j entJournal) String() string { return "ent on " + j.kind }

func (j entJournal) record(ctx context.Context, name string) error {
	return j.client.Event.Create().SetName(name).Exec(ctx)
}

func (j entJournal) between(ctx context.Context, first, last pk.ID) ([]event, error) {
	rows, err := j.client.Event.Query().Where(entevent.IDGTE(first), entevent.IDLTE(last)).All(ctx)
	events := make([]event, len(rows))
	for i, row := range rows {
		events[i] = event{row.ID, row.Name, j}
	}
	return events, err
}
