package matrix

import (
	"context"
	"errors"
	"testing"

	"github.com/glebarez/sqlite"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/matrix/keys"
)

var gormIntegration = integration{
	name: "GORM",
	benches: map[keyType]bench{
		idKey:       &gormBench[pk.ID]{},
		typedKey:    &gormBench[keys.ItemID]{},
		prefixedKey: &gormBench[keys.PrefixedItemID]{},
		publicKey:   &gormBench[keys.PublicItemID]{},
		stringKey:   &gormBench[pk.String]{},
		textKey:     &gormBench[pk.Text]{},
		sortKey:     &gormBench[pk.SortText]{},
		int64Key:    &gormBench[int64]{},
	},
}

type gormItem[K any] struct {
	ID K `gorm:"primaryKey;autoIncrement:false;snowkey"`
	Cells
	ParentID *K
	Parts    []gormItem[K] `gorm:"foreignKey:ParentID"`
}

func (gormItem[K]) TableName() string { return "items" }

func (m *gormItem[K]) set(i item) { m.ID, m.Cells = keyOf[K](i.key), Cells{i.name, i.n} }
func (m *gormItem[K]) get() item  { return item{name: m.Name, key: numberOf(m.ID), n: m.N} }

type gormBench[K any] struct{ db *gorm.DB }

func (b *gormBench[K]) open(t *testing.T, e env) {
	t.Helper()
	e.createItems(t)
	var dialector gorm.Dialector
	switch e.db.Dialect {
	case "sqlite":
		dialector = &sqlite.Dialector{Conn: e.conn}
	case "postgres":
		dialector = postgres.New(postgres.Config{Conn: e.conn})
	case "mysql":
		dialector = mysql.New(mysql.Config{Conn: e.conn})
	}
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err == nil {
		err = db.Use(gormid.New(gormid.Config{Source: e.source, Models: []any{&gormItem[K]{}}}))
	}
	if err != nil {
		t.Fatal(err)
	}
	b.db = db
}

func (*gormBench[K]) table() string { return "items" }

var errRollBack = errors.New("roll back")

func (b *gormBench[K]) ways() []way {
	names := []clause.Column{{Name: "name"}}
	return []way{
		{kind: one, call: "`Create(&row)`", create: b.rows(eachOf(func(db *gorm.DB, m *gormItem[K]) *gorm.DB { return db.Create(m) }))},
		{kind: one, call: "`Save(&row)`", create: b.rows(eachOf(func(db *gorm.DB, m *gormItem[K]) *gorm.DB { return db.Save(m) }))},
		{kind: one, call: "`FirstOrCreate(&row)`", create: b.rows(eachOf(func(db *gorm.DB, m *gormItem[K]) *gorm.DB {
			return db.Where("name = ?", m.Name).FirstOrCreate(m)
		}))},
		{kind: slice, call: "`Create(&rows)`", create: b.rows(func(db *gorm.DB, ms []gormItem[K]) error { return db.Create(&ms).Error })},
		{kind: pointers, call: "`Create([]*Row{…})`", create: b.rows(func(db *gorm.DB, ms []gormItem[K]) error { return db.Create(pointersTo(ms)).Error })},
		{kind: batches, call: "`CreateInBatches(&rows, 2)`", create: b.rows(func(db *gorm.DB, ms []gormItem[K]) error {
			return db.CreateInBatches(&ms, batchSize).Error
		})},
		{kind: graph, call: "`Create(&rows)` with has-many rows in them", create: b.graph},
		{kind: upsert, call: "`Clauses(OnConflict{Columns, DoUpdates}).Create(&rows)`", create: b.rows(func(db *gorm.DB, ms []gormItem[K]) error {
			return db.Clauses(clause.OnConflict{Columns: names, DoUpdates: clause.AssignmentColumns([]string{"n"})}).Create(&ms).Error
		})},
		{kind: ignore, call: "`Clauses(OnConflict{DoNothing: true}).Create(&rows)`", create: b.rows(func(db *gorm.DB, ms []gormItem[K]) error {
			return db.Clauses(clause.OnConflict{DoNothing: true}).Create(&ms).Error
		})},
		{kind: raw, call: "`Model(&Row{}).Create([]map[string]any{…})`", create: b.maps},
		{kind: preset, call: "`Create(&rows)`", create: b.rows(func(db *gorm.DB, ms []gormItem[K]) error { return db.Create(&ms).Error })},
		{kind: rollback, call: "`Transaction`, `Create(&rows)`", create: b.rows(func(db *gorm.DB, ms []gormItem[K]) error {
			return rolledBack(db.Transaction(func(tx *gorm.DB) error {
				if err := tx.Create(&ms).Error; err != nil {
					return err
				}
				return errRollBack
			}))
		})},
		{kind: failure, call: "`Create(&rows)`", create: b.rows(func(db *gorm.DB, ms []gormItem[K]) error { return db.Create(&ms).Error })},
		{kind: failure, call: "`CreateInBatches(&rows, 2)`", create: b.rows(func(db *gorm.DB, ms []gormItem[K]) error {
			return db.CreateInBatches(&ms, batchSize).Error
		})},
	}
}

// rolledBack returns an error unless the transaction was rolled back for the expected
// reason.
func rolledBack(err error) error {
	if errors.Is(err, errRollBack) {
		return nil
	}
	return errors.Join(err, errors.New("the transaction was not rolled back on purpose"))
}

// rows is a way that uses models.
func (b *gormBench[K]) rows(create func(db *gorm.DB, ms []gormItem[K]) error) create {
	return func(ctx context.Context, items []item) ([]item, error) {
		ms := modelsOf[gormItem[K]](items)
		err := create(b.db.WithContext(ctx), ms)
		return itemsOf(ms), err
	}
}

// eachOf is used by ways that create one row at a time.
func eachOf[K any](create func(db *gorm.DB, m *gormItem[K]) *gorm.DB) func(*gorm.DB, []gormItem[K]) error {
	return func(db *gorm.DB, ms []gormItem[K]) error {
		for i := range ms {
			if err := create(db, &ms[i]).Error; err != nil {
				return err
			}
		}
		return nil
	}
}

// graph creates parents that contain their children.
func (b *gormBench[K]) graph(ctx context.Context, items []item) ([]item, error) {
	var roots []gormItem[K]
	places := make(map[string]int)
	for i, m := range modelsOf[gormItem[K]](items) {
		if parent := items[i].parent; parent != "" {
			root := &roots[places[parent]]
			root.Parts = append(root.Parts, m)
			continue
		}
		places[m.Name] = len(roots)
		roots = append(roots, m)
	}
	err := b.db.WithContext(ctx).Create(&roots).Error
	memory := itemsOf(roots)
	for _, root := range roots {
		memory = append(memory, itemsOf(root.Parts)...)
	}
	return memory, err
}

func (b *gormBench[K]) maps(ctx context.Context, items []item) ([]item, error) {
	ms := make([]map[string]any, len(items))
	for i, want := range items {
		ms[i] = map[string]any{"name": want.name, "n": want.n}
	}
	err := b.db.WithContext(ctx).Model(&gormItem[K]{}).Create(ms).Error
	memory := make([]item, len(items))
	for i, m := range ms {
		memory[i] = item{name: items[i].name, key: numberOf(m["id"]), n: items[i].n}
	}
	return memory, err
}
