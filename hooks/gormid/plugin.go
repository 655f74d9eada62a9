package gormid

import (
	"errors"
	"strings"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/idgen"
)

// A Config configures a [Plugin]. The zero Config is ready to use.
type Config struct {
	// Source makes the keys. If it is an [*idgen.Pool], tags may name its generators.
	// Defaults to idgen.Default(). Each call of Create looks it up, so the pool may
	// be set after the database was opened.
	Source idgen.Source

	// FillIntegers also fills 64-bit integer keys that have no tag, such as the ID of
	// [gorm.Model]. Otherwise GORM lets the database number them. List these models
	// in Models, so that AutoMigrate creates their columns without auto-increment. To
	// leave a model to the database, tag its key autoIncrement, or list the model in
	// Counting.
	FillIntegers bool

	// Counting lists models whose integer keys the database numbers on purpose. For
	// any other model with such a key, the plugin logs one warning with the
	// database's logger when the model's first row is created. Defaults to none.
	Counting []any

	// Models lists models whose declarations are checked when the plugin is
	// installed, before their tables are migrated, instead of when their first row is
	// created. It also makes their tables known to the plugin. This is needed to
	// create rows from maps with db.Table(name) alone, because GORM knows no model
	// there. If join tables are to be checked as well, call db.SetupJoinTable first.
	// Defaults to none.
	Models []any
}

// A Plugin fills the keys of the rows that GORM creates. Install it with
// [gorm.DB.Use]. It is safe for concurrent use, and for several databases.
type Plugin struct {
	config Config
}

// New returns a plugin. Faults in cfg.Models are reported by [gorm.DB.Use].
func New(cfg Config) *Plugin { return &Plugin{config: cfg} }

// Name implements [gorm.Plugin]. A database accepts only one plugin of this name, so
// installing a second one fails with [gorm.ErrRegistered].
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
	// "*" puts the callback before all others. No other place before the transaction
	// always exists: with SkipDefaultTransaction there is no gorm:begin_transaction,
	// and GORM runs a callback that should come before a missing one last.
	return errors.Join(
		create.Before("*").Register("snowkey:fill", f.fill),
		create.Before("gorm:create").Register("snowkey:check", f.check),
		create.Before("gorm:save_after_associations").After("gorm:create").Register("snowkey:settle", f.settle),
	)
}

// learn checks models and remembers the keys of their tables, for rows that are maps.
func (f *filler) learn(db *gorm.DB, models []any) error {
	var errs []error
	var parsed []*gorm.Statement
	for _, model := range models {
		stmt := &gorm.Statement{DB: db}
		if err := stmt.Parse(model); err != nil {
			errs = append(errs, err)
			continue
		}
		parsed = append(parsed, stmt)
	}
	// A model may declare that another model's key is a foreign key, so all models are
	// parsed before the first key is looked at.
	for _, stmt := range parsed {
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
