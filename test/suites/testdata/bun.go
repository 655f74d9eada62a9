package dbtest_test

import (
	"os"
	"testing"

	"github.com/snowkey-go/snowkey/hooks/bunid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/uptrace/bun"
)

var hooksAreOn = os.Getenv("SNOWKEY_HOOKS") == "on"

func addHooks(db *bun.DB) *bun.DB {
	if !hooksAreOn {
		return db
	}
	if _, err := idgen.Default().Next(ctx); err != nil {
		pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(1)})
		if err != nil {
			panic(err)
		}
		idgen.SetDefault(pool)
	}
	db, err := bunid.Use(db)
	if err != nil {
		panic(err)
	}
	return db
}

// If the hooks are enabled, a key of package pk must be filled or refused.
func TestSnowkey(t *testing.T) {
	type Filled struct {
		bunid.Filled
		ID pk.ID `bun:",pk"`
	}
	type Forgotten struct {
		ID pk.ID `bun:",pk"`
	}
	testEachDB(t, func(t *testing.T, _ string, db *bun.DB) {
		for _, model := range []any{(*Filled)(nil), (*Forgotten)(nil)} {
			dbtest.NoError(t, db.ResetModel(ctx, model))
		}
		row := Filled{}
		_, err := db.NewInsert().Model(&row).Exec(ctx)
		if filled := err == nil && row.ID > 1<<40; filled != hooksAreOn {
			t.Errorf("hooks are on: %v, the key is %d, the error %v", hooksAreOn, row.ID, err)
		}
		if _, err := db.NewInsert().Model(&Forgotten{}).Exec(ctx); (err != nil) != hooksAreOn {
			t.Errorf("hooks are on: %v, a row without a key: %v", hooksAreOn, err)
		}
	})
}
