package gormid

import (
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/schema/pk"
)

// Model is [gorm.Model] with a key the plugin fills. Embed it in place of gorm.Model.
type Model struct {
	ID        pk.ID `gorm:"primaryKey"`
	CreatedAt time.Time
	UpdatedAt time.Time
	DeletedAt gorm.DeletedAt `gorm:"index"`
}
