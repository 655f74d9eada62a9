package gormid

import (
	"errors"
	"strings"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/idgen"
)

// A Config configures a [Plugin]. The zero Config is ready to use.
type Config struct {
	// Source generates the keys. If it's an [*idgen.Pool], tags can name its generators. If
	// it's an [*idgen.Backfill], keys have the times in the rows' field CreatedAt.
	// Defaults to idgen.Default(), which is called in each Create, so you can set the
	// default pool after you've opened the database.
	Source idgen.Source

	// FillIntegers makes the plugin fill 64-bit integer keys that have no tag, such as
	// the ID of [gorm.Model]. Otherwise GORM lets the database number them. You should
	// list these models in Models too, so that AutoMigrate creates their columns without
	// auto-increment. A key with the tag autoIncrement is only filled if its model is
	// listed there. If you want to leave a model to the database, list it in Counting.
	FillIntegers bool

	// Counting lists models whose integer keys are numbered by the database on purpose.
	// For any other model with such a key, the plugin uses the database's logger to log
	// a warning when the first row is created. Defaults to none.
	Counting []any

	// Models lists models whose declarations should be checked when the plugin is
	// installed, before their tables are migrated. Other models are checked when their
	// first row is created. The plugin also remembers the tables of these models. It
	// needs that to create rows from maps with nothing but db.Table(name), because GORM
	// doesn't know the model in that case. To check join tables as well, call
	// db.SetupJoinTable first. Defaults to none.
	Models []any
}

// A Plugin fills the keys of the rows that GORM creates. Install it with
// [gorm.DB.Use]. It is safe for concurrent use, and for several databases.
type Plugin struct {
	config Config
}

// New returns a plugin. Faults in cfg.Models are reported by [gorm.DB.Use].
func New(cfg Config) *Plugin { return &Plugin{config: cfg} }

// Name implements [gorm.Plugin]. Since a database can only have one plugin of each name, you
// can't install a second one, and get [gorm.ErrRegistered] if you try.
func (*Plugin) Name() string { return "snowkey" }

// Initialize implements [gorm.Plugin]; [gorm.DB.Use] calls it.
func (p *Plugin) Initialize(db *gorm.DB) error {
	f := &filler{source: p.config.Source, integers: p.config.FillIntegers, tables: make(map[string]*key), namesakes: make(map[string]string)}
	f.counter, _ = p.config.Source.(counter)
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
	// "*" puts the callback before all others. We can't ask for a place right before
	// gorm:begin_transaction, because with SkipDefaultTransaction that callback doesn't
	// exist, and GORM would then run ours last.
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
		f.listed = append(f.listed, stmt.Schema.ModelType)
	}
	// We have to parse all models before we look at the first key, because a model may
	// declare that another model's key is a foreign key.
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
