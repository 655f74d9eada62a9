package main

import (
	"database/sql"
	"encoding/json"
	"testing"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/snowkey-go/snowkey/hooks/bunid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/idgentest"
)

// TestStableIDs shows how an application's test gets the same keys in every run. The
// keys come from the default pool, so the test does not run in parallel with others.
func TestStableIDs(t *testing.T) {
	ctx, ids := t.Context(), idgentest.New(t)
	idgen.SetDefault(ids.Pool)
	defer idgen.SetDefault(nil)
	db := must(sql.Open("sqlite", ":memory:"))
	defer db.Close()
	db.SetMaxOpenConns(1) // otherwise, each connection would have its own database
	shop := must(bunid.Use(bun.NewDB(db, sqlitedialect.New()), (*User)(nil)))
	must(shop.NewCreateTable().Model((*User)(nil)).Exec(ctx))
	must(shop.NewInsert().Model(&[]User{{Name: "Ada"}, {Name: "Bob"}}).Exec(ctx))
	ids.Advance(time.Hour)
	must(shop.NewInsert().Model(&User{Name: "Cy"}).Exec(ctx))

	var users []User
	check(shop.NewSelect().Model(&users).Order("id").Scan(ctx))
	want := `[{"ID":"132271570944004097","Name":"Ada"},{"ID":"132271570944004098","Name":"Bob"},{"ID":"132286670438404097","Name":"Cy"}]`
	if got := string(must(json.Marshal(users))); got != want {
		t.Errorf("the users are\n%s, want\n%s", got, want)
	}
}
