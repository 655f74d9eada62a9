package tests_test

import (
	"os"
	"sync"
	"testing"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"gorm.io/gorm"
)

var hooksAreOn = os.Getenv("SNOWKEY_HOOKS") == "on"

func addHooks(db *gorm.DB) error {
	if !hooksAreOn {
		return nil
	}
	return db.Use(gormid.New(gormid.Config{Source: pool()}))
}

var pool = sync.OnceValue(func() *idgen.Pool {
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(1)})
	if err != nil {
		panic(err)
	}
	return pool
})

// If the plugin is enabled, it must fill in a key of package pk.
func TestSnowkey(t *testing.T) {
	type Filled struct{ ID pk.ID }
	dbtest.NoError(t, DB.AutoMigrate(&Filled{}))
	var row Filled
	err := DB.Create(&row).Error
	if filled := err == nil && row.ID > 1<<40; filled != hooksAreOn {
		t.Errorf("hooks are on: %v, the key is %d, the error %v", hooksAreOn, row.ID, err)
	}
}
