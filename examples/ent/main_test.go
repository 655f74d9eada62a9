package main

import (
	"database/sql"
	"encoding/json"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/idgen/idgentest"

	"github.com/snowkey-go/snowkey/examples/ent/ent"
	"github.com/snowkey-go/snowkey/examples/ent/ent/enttest"
	"github.com/snowkey-go/snowkey/examples/ent/ent/user"
)

// TestStableIDs shows how an application's test gets the same ids in every run.
func TestStableIDs(t *testing.T) {
	t.Parallel() // each test has its own pool
	ctx, ids := t.Context(), idgentest.New(t)
	db := must(sql.Open("sqlite", ":memory:?_pragma=foreign_keys(1)"))
	db.SetMaxOpenConns(1) // otherwise, each connection would have its own database
	client := enttest.NewClient(t, enttest.WithOptions(ent.Driver(entsql.OpenDB(dialect.SQLite, db))))
	defer client.Close()
	client.Use(entid.Hook(ids)) // instead of idgen.SetDefault
	check(client.User.CreateBulk(client.User.Create().SetName("Ada"), client.User.Create().SetName("Bob")).Exec(ctx))
	ids.Advance(time.Hour)
	check(client.User.Create().SetName("Cy").Exec(ctx))

	users := must(client.User.Query().Order(user.ByID()).All(ctx))
	want := `[{"id":"132271570944004097","name":"Ada","edges":{}},{"id":"132271570944004098","name":"Bob","edges":{}},{"id":"132286670438404097","name":"Cy","edges":{}}]`
	if got := string(must(json.Marshal(users))); got != want {
		t.Errorf("the users are\n%s, want\n%s", got, want)
	}
}
