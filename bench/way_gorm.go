package main

import (
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/schema/pk"
)

func openGORMRows(db *database, k keyKind) (ways, error) {
	var dialector gorm.Dialector = postgres.New(postgres.Config{Conn: db.sql})
	if db.dialect == "mysql" {
		dialector = mysql.New(mysql.Config{Conn: db.sql})
	}
	orm, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return ways{}, err
	}
	switch {
	case k.ours:
		if err := orm.Use(gormid.New(gormid.Config{})); err != nil {
			return ways{}, err
		}
		return gormWays(orm, k, unset[pk.ID]), nil
	case k.make == nil:
		return gormWays(orm, k, unset[int64]), nil
	case db.dialect == "mysql":
		return gormWays(orm, k, binary(k.make)), nil
	default:
		return gormWays(orm, k, k.make), nil
	}
}

func gormWays[K any](orm *gorm.DB, k keyKind, make func() (K, error)) ways {
	return waysOf(rowsWith(make),
		func(r *row[K]) error { return orm.Table(k.table).Create(r).Error },
		func(rows []row[K]) error { return orm.Table(k.table).Create(&rows).Error })
}
