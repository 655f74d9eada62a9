// Package forgotten has models with Snowkey's keys, and opens GORM without the plugin.
package forgotten

import (
	"github.com/snowkey-go/snowkey/hooks/gormid"
	"gorm.io/gorm"
)

type User struct{ gormid.Model }

func open() (*gorm.DB, error) {
	return gorm.Open("shop.db") // want "The database is opened without the hooks that fill keys. Call db.Use\\(gormid.New\\(config\\)\\)"
}
