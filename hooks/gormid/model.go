package gormid

import (
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/schema/pk"
)

// A Model has the fields of [gorm.Model], with a key that the plugin fills. Embed it
// instead of gorm.Model.
type Model struct {
	ID        pk.ID `gorm:"primaryKey"`
	CreatedAt time.Time
	UpdatedAt time.Time
	DeletedAt gorm.DeletedAt `gorm:"index"`
}
