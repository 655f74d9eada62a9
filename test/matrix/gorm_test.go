package matrix

import (
	"cmp"
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
	"github.com/snowkey-go/snowkey/internal/dbtest"
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

type gormBench[K any] struct{ db *gorm.DB }

func (b *gormBench[K]) open(t *testing.T, e env) {
	t.Helper()
	e.createItems(t)
	dialector := map[string]gorm.Dialector{
		"sqlite":   &sqlite.Dialector{Conn: e.conn},
		"postgres": postgres.New(postgres.Config{Conn: e.conn}),
		"mysql":    mysql.New(mysql.Config{Conn: e.conn}),
	}[e.db.Dialect]
	b.db = dbtest.Must(gorm.Open(dialector, &gorm.Config{Logger: logger.Discard}))(t)
	dbtest.NoError(t, b.db.Use(gormid.New(gormid.Config{Source: e.source, Models: []any{&gormItem[K]{}}})))
}

func (*gormBench[K]) table() string { return "items" }

var errRollBack = errors.New("roll back")

func (b *gormBench[K]) ways() []way {
	type (
		row  = gormItem[K]
		list = *[]gormItem[K]
	)
	names := []clause.Column{{Name: "name"}}
	merge := clause.OnConflict{Columns: names, DoUpdates: clause.AssignmentColumns([]string{"n"})}
	db := func(ctx context.Context) *gorm.DB { return b.db.WithContext(ctx) }
	create := rows(func(ctx context.Context, ms list) error { return db(ctx).Create(ms).Error })
	inBatches := rows(func(ctx context.Context, ms list) error { return db(ctx).CreateInBatches(ms, batchSize).Error })
	return []way{
		{one, "`Create(&row)`", each(func(ctx context.Context, m *row) error { return db(ctx).Create(m).Error })},
		{one, "`Save(&row)`", each(func(ctx context.Context, m *row) error { return db(ctx).Save(m).Error })},
		{one, "`FirstOrCreate(&row)`", each(func(ctx context.Context, m *row) error {
			return db(ctx).Where("name = ?", m.Name).FirstOrCreate(m).Error
		})},
		{slice, "`Create(&rows)`", create},
		{pointers, "`Create([]*Row{…})`", rows(func(ctx context.Context, ms list) error { return db(ctx).Create(pointersTo(*ms)).Error })},
		{batches, "`CreateInBatches(&rows, 2)`", inBatches},
		{graph, "`Create(&rows)` with has-many rows in them", b.graph},
		{upsert, "`Clauses(OnConflict{Columns, DoUpdates}).Create(&rows)`", rows(func(ctx context.Context, ms list) error {
			return db(ctx).Clauses(merge).Create(ms).Error
		})},
		{ignore, "`Clauses(OnConflict{DoNothing: true}).Create(&rows)`", rows(func(ctx context.Context, ms list) error {
			return db(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(ms).Error
		})},
		{raw, "`Model(&Row{}).Create([]map[string]any{…})`", b.maps},
		{preset, "`Create(&rows)`", create},
		{rollback, "`Transaction`, `Create(&rows)`", rows(func(ctx context.Context, ms list) error {
			return rolledBack(db(ctx).Transaction(func(tx *gorm.DB) error { return cmp.Or(tx.Create(ms).Error, errRollBack) }))
		})},
		{failure, "`Create(&rows)`", create},
		{failure, "`CreateInBatches(&rows, 2)`", inBatches},
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
