package gormid

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/fill"
)

// A filler is the state of the plugin for one database.
type filler struct {
	source idgen.Source // nil means idgen.Default()

	tables map[string]judged // by the tables of Config.Models; not written after Initialize
	keys   sync.Map          // *schema.Schema → judged; a schema lives as long as the database

	integers bool             // Config.FillIntegers
	counting []*schema.Schema // of Config.Counting
	listed   []*schema.Schema // of Config.Models
	adopting sync.Mutex

	uniques sync.Map // on MySQL, the []unique of each table with merged rows, by its name in SQL
}

// A creation is the state that the callbacks share for one statement, in whose Settings it is.
type creation struct {
	*filler
	stmt    *gorm.Statement
	key     *key
	selects []string // the caller's Selects, because selectKey may add to them

	rows     []row
	maps     bool   // the rows are maps
	list     bool   // or they are a slice or array
	pointers bool   // of pointers to structs
	filled   []sent // the rows whose keys the plugin has set

	associated bool // GORM saves the rows because other rows refer to them

	conflict *conflict // set by check if rows may be left out or merged
}

// A sent is a row whose key the plugin has set, as it was before the INSERT.
type sent struct {
	row
	id int64
}

// A carrier is the name of a setting that holds a creation. It has the statement, because GORM
// copies the settings to the statements of transactions and associations.
type carrier struct{ stmt *gorm.Statement }

// A judged is the key of a model or a table, or the reason why there is none.
type judged struct {
	key *key
	err error
}

// keyOf returns the key of the rows that stmt creates, or nil if it isn't ours to fill.
func (f *filler) keyOf(stmt *gorm.Statement) (*key, error) {
	if stmt.Schema != nil {
		return f.keyOfModel(stmt.DB, stmt.Schema)
	}
	maps := mapsOf(stmt)
	if maps == nil {
		return nil, nil
	}
	if j, ok := f.tables[stmt.Table]; ok {
		return j.key, j.err
	}
	return nil, refuseNull(stmt, maps)
}

// keyOfModel returns the key of a model, which it examines only once.
func (f *filler) keyOfModel(db *gorm.DB, s *schema.Schema) (*key, error) {
	v, ok := f.keys.Load(s)
	if !ok {
		k, err := f.newKey(s, db.Name())
		if v, ok = f.keys.LoadOrStore(s, judged{k, err}); !ok && k == nil && err == nil {
			f.warn(db, s) // without the lock, because a logger may create rows
		}
	}
	return v.(judged).key, v.(judged).err
}

// newKey returns the key of a model. With FillIntegers, it adopts the model, under a lock
// because statements of other models may adopt it too.
func (f *filler) newKey(s *schema.Schema, dialect string) (*key, error) {
	f.adopting.Lock()
	defer f.adopting.Unlock()
	if f.integers {
		f.adopt(s)
	}
	return newKey(s, dialect)
}

// fill is the first callback, and runs even before the transaction and the model's hooks. It
// gives a key to every row that doesn't have one.
func (f *filler) fill(stmt *gorm.Statement) error {
	k, err := f.keyOf(stmt)
	if err != nil {
		return err
	}
	c := &creation{filler: f, stmt: stmt, key: k, selects: stmt.Selects}
	if k == nil {
		if stmt.Schema == nil || !c.mayMerge() {
			return nil
		}
		// The rows of a join table may lack keys that we don't fill.
		k = &key{Key: fill.Key{Package: "gormid", Model: modelName(stmt.Schema)}, schema: stmt.Schema, given: "is not filled"}
		c.key = k
	}
	_, c.associated = stmt.Settings.Load(savedAssociations)
	if err = c.read(); err != nil && k.given != "" {
		return nil // these rows need not change
	}
	if err != nil || len(c.rows) == 0 {
		return err
	}
	if k.given == "" {
		c.count()
		if err := c.draw(); err != nil {
			if stmt.DB.DryRun { // ToSQL ignores the error and returns an empty string
				stmt.Logger.Error(stmt.Context, err.Error())
			}
			return err
		}
	}
	stmt.Settings.Store(carrier{stmt}, c)
	return c.selectKey()
}

// count tells an *idgentest.Counter about the keys of rows, which a column that counts would
// notice.
func (c *creation) count() {
	counter, ok := c.source.(interface{ Seen(name string, id int64) })
	if !ok {
		return
	}
	for _, r := range c.rows {
		if id, ok := c.key.number(r); ok {
			counter.Seen(cmp.Or(c.key.Generator, c.key.Model), id)
		}
	}
}

// draw generates the keys for all rows without one, in one step, and sets them. Unless the
// INSERT may merge rows, draw fails if one of these rows is in the call more than once.
func (c *creation) draw() error {
	k := c.key
	empty, err := c.empty(k)
	if err != nil || len(empty) == 0 {
		return err
	}
	ids, err := k.Draw(c.stmt.Context, c.source, empty, c.value)
	if err != nil {
		return err
	}
	for j, i := range empty {
		k.set(c.rows[i], ids[j])
		c.filled = append(c.filled, sent{c.rows[i], ids[j]})
	}
	again := slices.IndexFunc(c.filled, k.lost)
	if again < 0 || c.mayMerge() {
		return nil
	}
	for _, s := range c.filled {
		k.clear(s.row)
	}
	return k.Refuse(c.filled[again].index, nil, "is in the call a second time", "pass each row once, or copies of it")
}

// mayMerge reports whether the INSERT may skip or merge rows, as those do with which GORM
// saves associations. In that case, the same row is allowed more than once.
func (c *creation) mayMerge() bool {
	_, on := c.stmt.Clauses["ON CONFLICT"]
	return on || c.insert().Modifier != ""
}

// insert returns what the caller wants between INSERT and the columns, such as IGNORE.
func (c *creation) insert() clause.Insert {
	insert, _ := c.stmt.Clauses["INSERT"].Expression.(clause.Insert)
	return insert
}

// selectKey adds the key to the columns of the INSERT. Otherwise GORM would leave it out if
// the caller has used Select, even though it has a value. selectKey fails if the caller
// omits the key.
func (c *creation) selectKey() error {
	stmt := c.stmt
	if len(stmt.Selects)+len(stmt.Omits) == 0 {
		return nil
	}
	selected, restricted := stmt.SelectAndOmitColumns(true, false)
	for _, k := range c.key.parts {
		column := k.field.DBName
		included, mentioned := selected[column]
		switch {
		case mentioned && !included:
			return k.Refuse(-1, nil, "would be inserted without its key "+column, "do not Omit the key")
		case !mentioned && restricted:
			stmt.Selects = append(slices.Clip(stmt.Selects), column)
		}
	}
	return nil
}

// check is the callback right before the INSERT, after hooks and associations. It
// returns an error if a row has no key.
func check(stmt *gorm.Statement) error {
	v, ok := stmt.Settings.Load(carrier{stmt})
	if !ok {
		return nil
	}
	c := v.(*creation)
	// fill doesn't check keys that are set by the caller, and hooks may have changed the
	// others since.
	if s := c.key.schema; c.key.given != "" || s.BeforeSave || s.BeforeCreate {
		for _, k := range c.key.parts {
			empty, err := c.empty(k)
			if err != nil {
				return err
			}
			if len(empty) > 0 {
				return k.unfilled(empty[0])
			}
		}
	}
	if c.mayMerge() {
		if err := c.halfJoined(); err != nil {
			return err
		}
		if len(c.filled) > 0 {
			c.conflict = c.newConflict()
		}
	}
	return c.selectKey()
}

func (k *key) unfilled(i int) error {
	switch k.given {
	case "":
		return k.Refuse(i, nil, "has lost its key since it was filled", "do not set "+k.Field+" to zero in a hook")
	case "is a foreign key":
		return k.Refuse(i, nil, "has no key, because "+k.Field+" is a foreign key, and the row to which it refers has none",
			"create that row first; an upsert may have left it out")
	}
	return k.Refuse(i, nil, fmt.Sprintf("has no key, and %s %s, which is not filled", k.Field, k.given), "set it")
}

// settle is the callback right after the INSERT. It corrects keys that aren't in the table,
// before GORM copies them into has-one and has-many rows.
func settle(db *gorm.DB) {
	stmt := db.Statement
	v, ok := stmt.Settings.LoadAndDelete(carrier{stmt})
	if !ok {
		return
	}
	c := v.(*creation)
	stmt.Selects = c.selects
	if stmt.Schema == nil {
		for _, r := range c.rows {
			delete(r.m, "@id") // GORM's name for SQLite's rowid, which is not the key
		}
	}
	if db.Error == nil && !db.DryRun && c.conflict != nil {
		db.AddError(c.conflict.settle())
	}
}
