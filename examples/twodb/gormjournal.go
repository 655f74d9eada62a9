package main

import (
	"context"

	"entgo.io/ent/dialect"
	"github.com/glebarez/sqlite"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// Event is the GORM model of the table that ent's schema defines.
type Event struct {
	ID   pk.ID
	Name string
}

// gormJournal stores events using GORM.
type gormJournal struct {
	db   *gorm.DB
	kind string
}

func openGORM(ctx context.Context, db database) (gormJournal, error) {
	var dialector gorm.Dialector = &sqlite.Dialector{Conn: db.DB}
	if db.kind == dialect.MySQL {
		dialector = mysql.New(mysql.Config{Conn: db.DB})
	}
	orm, err := gorm.Open(dialector, &gorm.Config{})
	if err != nil {
		return gormJournal{}, err
	}
	if err := orm.Use(gormid.New(gormid.Config{})); err != nil {
		return gormJournal{}, err
	}
	return gormJournal{orm, db.kind}, orm.WithContext(ctx).AutoMigrate(&Event{})
}

func (j gormJournal) String() string { return "GORM on " + j.kind }

func (j gormJournal) record(ctx context.Context, name string) error {
	return j.db.WithContext(ctx).Create(&Event{Name: name}).Error
}

func (j gormJournal) between(ctx context.Context, first, last pk.ID) ([]event, error) {
	var rows []Event
	err := j.db.WithContext(ctx).Where("id BETWEEN ? AND ?", first, last).Find(&rows).Error
	events := make([]event, len(rows))
	for i, row := range rows {
		events[i] = event{row.ID, row.Name, j}
	}
	return events, err
}
