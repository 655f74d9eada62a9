package gormid

import (
	"errors"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/idgen"
)

// Config configures a [Plugin]. The zero value is ready to use.
type Config struct {
	// Source generates the keys. With an [*idgen.Pool], tags can pick one of its generators.
	// With an [*idgen.Backfill], the time in a key is taken from the row's CreatedAt field.
	//
	// Defaults to idgen.Default(), which is looked up on every Create. The default pool may
	// therefore be set after the database has been opened.
	Source idgen.Source

	// FillIntegers also fills 64-bit integer keys without a tag, like the ID in [gorm.Model].
	// GORM would otherwise let the database number them. List these models in Models too, so
	// that AutoMigrate creates their columns without auto-increment; for keys tagged
	// autoIncrement that's a requirement. Models that should stay with the database belong in
	// Counting.
	FillIntegers bool

	// Counting lists models whose integer keys are numbered by the database on purpose. Any
	// other model with such a key logs a warning to the database's logger when its first row
	// is created. Defaults to none.
	Counting []any

	// Models are models to check when the plugin is installed, before their tables are
	// migrated. Other models aren't checked until their first row is created. Listing a
	// model also tells the plugin about its table, which is required for creating rows from
	// maps with just db.Table(name), because GORM doesn't know the model in that case. To
	// check join tables as well, call db.SetupJoinTable first. Defaults to none.
	Models []any
}

// Plugin fills the keys of rows created by GORM. It should be installed with [gorm.DB.Use].
// A Plugin is safe for concurrent use, and can be shared by several databases.
type Plugin struct {
	config Config
}

// New returns a plugin. If there's a problem with cfg.Models, [gorm.DB.Use] will return it.
func New(cfg Config) *Plugin { return &Plugin{config: cfg} }

// Name implements [gorm.Plugin]. GORM allows one plugin per name and database, so trying to
// install a second one returns [gorm.ErrRegistered].
func (*Plugin) Name() string { return "snowkey" }

// Initialize implements [gorm.Plugin]; [gorm.DB.Use] calls it.
func (p *Plugin) Initialize(db *gorm.DB) error {
	f := &filler{source: p.config.Source, integers: p.config.FillIntegers, tables: make(map[string]judged)}
	var err error
	if f.counting, err = parse(db, p.config.Counting); err != nil {
		return err
	}
	if err := f.learn(db, p.config.Models); err != nil {
		return err
	}
	create := db.Callback().Create()
	// "*" puts the callback before all others. We can't ask for a place right before
	// gorm:begin_transaction, because with SkipDefaultTransaction that callback doesn't
	// exist, and GORM would then run ours last.
	return errors.Join(
		create.Before("*").Register("snowkey:fill", ifValid(f.fill)),
		create.Before("gorm:create").Register("snowkey:check", ifValid(check)),
		create.Before("gorm:save_after_associations").After("gorm:create").Register("snowkey:settle", settle),
	)
}

// ifValid returns a callback that does nothing if the statement has already failed.
func ifValid(do func(*gorm.Statement) error) func(*gorm.DB) {
	return func(db *gorm.DB) {
		if db.Error == nil {
			db.AddError(do(db.Statement))
		}
	}
}

// parse returns the schemas of models, except for those that GORM can't parse.
func parse(db *gorm.DB, models []any) (schemas []*schema.Schema, err error) {
	for _, model := range models {
		stmt := &gorm.Statement{DB: db}
		if invalid := stmt.Parse(model); invalid != nil {
			err = errors.Join(err, invalid)
			continue
		}
		schemas = append(schemas, stmt.Schema)
	}
	return schemas, err
}

// learn checks models and remembers the keys of their tables, for rows that are maps.
func (f *filler) learn(db *gorm.DB, models []any) error {
	// We have to parse all models before we look at the first key, because a model may
	// declare that another model's key is a foreign key.
	var err error
	f.listed, err = parse(db, models)
	errs := []error{err}
	for _, s := range f.listed {
		k, err := f.keyOfModel(db, s)
		if err == nil && k == nil {
			err = unkeyed(s)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		name := s.Table[strings.LastIndexByte(s.Table, '.')+1:] // GORM drops the database's name, too
		j := judged{key: k}
		if known := f.tables[name].key; known != nil && known.schema.Table != s.Table {
			j.key = known
			j.err = known.Refuse(-1, nil, "and "+k.Model+" have tables of the same name, so the table of a map is not known",
				"pass the model: db.Model(&row).Create(map)")
		}
		f.tables[name] = j
	}
	return errors.Join(errs...)
}
