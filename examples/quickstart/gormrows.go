package main

import (
	"context"
	"database/sql"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// User and Post are the GORM models of the tables that ent created.
type User struct {
	ID    pk.ID
	Name  string
	Posts []Post `gorm:"foreignKey:AuthorID"`
}

type Post struct {
	ID       pk.ID
	Title    string
	AuthorID pk.ID
}

// createWithGORM creates rows one by one, in bulk and with associations.
func createWithGORM(ctx context.Context, db *sql.DB) ([]row, error) {
	orm, err := gorm.Open(&sqlite.Dialector{Conn: db}, &gorm.Config{})
	if err != nil {
		return nil, err
	}
	if err := orm.Use(gormid.New(gormid.Config{})); err != nil {
		return nil, err
	}
	orm = orm.WithContext(ctx)
	grace := User{Name: "Grace", Posts: []Post{{Title: "Compilers"}, {Title: "Nanoseconds"}}}
	if err := orm.Create(&grace).Error; err != nil {
		return nil, err
	}
	others := []User{{Name: "Edsger"}, {Name: "Barbara"}}
	if err := orm.Create(&others).Error; err != nil {
		return nil, err
	}
	rows := []row{{"GORM", "user", grace.ID, grace.Name, 0}}
	for _, p := range grace.Posts {
		rows = append(rows, row{"GORM", "post", p.ID, p.Title, p.AuthorID})
	}
	for _, u := range others {
		rows = append(rows, row{"GORM", "user", u.ID, u.Name, 0})
	}
	return rows, nil
}
