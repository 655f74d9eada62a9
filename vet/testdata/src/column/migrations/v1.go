package migrations

import (
	"column/entity"

	"gorm.io/gorm"
	"xorm.io/xorm"
)

type oldTag struct {
	ID int64 `xorm:"pk 'id'"`
}

func v1(e *xorm.Engine, db *gorm.DB) {
	_ = e.Sync(new(entity.Tag))       // want "A migration uses today's entity.Tag"
	_ = db.AutoMigrate(&entity.Tag{}) // want "A migration uses today's entity.Tag"
	_ = e.Sync(new(oldTag))           // fine
	_ = e.Sync(new(entity.Note))      // fine
}
