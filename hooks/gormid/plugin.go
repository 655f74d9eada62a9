package gormid

import (
	"errors"
	"strings"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/idgen"
)

// A Config configures a [Plugin]. The zero Config is ready to use.
type Config struct {
	// Source hands out the keys. If it is an [*idgen.Pool], tags may name
	// generators. Defaults to idgen.Default(), looked up for each call of
	// Create, so that the pool may be set after the database was opened.
	Source idgen.Source

	// FillIntegers also fills integer keys of 64 bits that have no tag, such as the ID
	// of [gorm.Model]. GORM has the database number them otherwise. List these models
	// in Models, so that AutoMigrate makes columns without a counter. The tag
	// autoIncrement, or a place in Counting, leaves a model to the database.
	FillIntegers bool

	// Counting lists models whose integer keys the database numbers on purpose. For
	// other such models the plugin logs one warning with the logger of the database,
	// when their first row is created. Defaults to none.
	Counting []any

	// Models lists models whose declarations are checked when the plugin is
	// installed, before their tables are migrated, instead of when their first
	// row is created. It also makes their tables known, so that maps can be
	// created with db.Table(name) alone, where GORM knows no model. Call
	// db.SetupJoinTable before, for join tables to be checked as well. Defaults
	// to none.
	Models []any
}

// A Plugin fills the keys of the rows that GORM creates. Install it with
// [gorm.DB.Use]. It is safe for concurrent use, and for several databases.
type Plugin struct {
	config Config
}

// New returns a plugin. Faults in cfg.Models are reported by [gorm.DB.Use].
func New(cfg Config) *Plugin { return &Plugin{config: cfg} }

// Name implements [gorm.Plugin]. A database takes the plugin once: a second one
// is refused with [gorm.ErrRegistered].
func (*Plugin) Name() string { return "snowkey" }

// Initialize implements [gorm.Plugin]; [gorm.DB.Use] calls it.
func (p *Plugin) Initialize(db *gorm.DB) error {
	f := &filler{source: p.config.Source, integers: p.config.FillIntegers, tables: make(map[string]*key), namesakes: make(map[string]string)}
	for _, model := range p.config.Counting {
		stmt := &gorm.Statement{DB: db}
		if err := stmt.Parse(model); err != nil {
			return err
		}
		f.counting = append(f.counting, stmt.Schema.ModelType)
	}
	if err := f.learn(db, p.config.Models); err != nil {
		return err
	}
	create := db.Callback().Create()
	// "*" is the only place before the transaction that always exists. With
	// SkipDefaultTransaction there is no gorm:begin_transaction, and a callback
	// before a missing one runs last.
	return errors.Join(
		create.Before("*").Register("snowkey:fill", f.fill),
		create.Before("gorm:create").Register("snowkey:check", f.check),
		create.Before("gorm:save_after_associations").After("gorm:create").Register("snowkey:settle", f.settle),
	)
}

// learn checks models and remembers their tables.
func (f *filler) learn(db *gorm.DB, models []any) error {
	var errs []error
	for _, model := range models {
		stmt := &gorm.Statement{DB: db}
		if err := stmt.Parse(model); err != nil {
			errs = append(errs, err)
			continue
		}
		k, err := f.keyOf(stmt)
		if err == nil && k == nil {
			err = unkeyed(stmt.Schema)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		table := stmt.Schema.Table
		name := table[strings.LastIndexByte(table, '.')+1:] // GORM drops the database's name, too
		if known := f.tables[name]; known != nil && known.schema.Table != table {
			f.namesakes[name] = k.Model
			continue
		}
		f.tables[name] = k
	}
	return errors.Join(errs...)
}
