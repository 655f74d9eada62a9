// Package gorm stands for GORM.
package gorm

type Model struct {
	ID uint `gorm:"primarykey"`
}

type DB struct{}

type (
	Dialector any
	Option    any
	Plugin    any
)

func Open(d Dialector, options ...Option) (*DB, error) { return nil, nil }

type Migrator interface {
	AlterColumn(model any, field string) error
}

func (db *DB) First(dest any, conds ...any) *DB  { return db }
func (db *DB) Find(dest any, conds ...any) *DB   { return db }
func (db *DB) Delete(dest any, conds ...any) *DB { return db }
func (db *DB) Where(query any, args ...any) *DB  { return db }
func (db *DB) Order(value any) *DB               { return db }
func (db *DB) Updates(values any) *DB            { return db }
func (db *DB) AutoMigrate(models ...any) error   { return nil }
func (db *DB) Use(plugin Plugin) error           { return nil }
func (db *DB) Migrator() Migrator                { return nil }
