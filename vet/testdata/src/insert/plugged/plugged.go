// Package plugged opens GORM with the plugin.
package plugged

import (
	"github.com/snowkey-go/snowkey/hooks/gormid"
	"gorm.io/gorm"
)

func open() (*gorm.DB, error) {
	db, err := gorm.Open("shop.db") // fine
	if err != nil {
		return nil, err
	}
	return db, db.Use(gormid.New(gormid.Config{}))
}
