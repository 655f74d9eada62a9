package matrix

import (
	"context"
	"reflect"

	"github.com/snowkey-go/snowkey/internal/keytype"
)

// Cells has the other columns of a model. The type has to be exported, since GORM
// ignores embedded structs that aren't.
type Cells struct {
	Name string `gorm:"size:40"`
	N    int
}

// modelsOf turns items into models. A model M declares an item in the way that an
// integration requires: it has the fields ID, Name and N.
func modelsOf[M any](items []item) []M {
	models := make([]M, len(items))
	for i, item := range items {
		m := reflect.ValueOf(&models[i]).Elem()
		if item.key != 0 {
			keytype.Set(m.FieldByName("ID"), item.key)
		}
		m.FieldByName("Name").SetString(item.name)
		m.FieldByName("N").SetInt(int64(item.n))
	}
	return models
}

// itemsOf turns models, or pointers to them, into items.
func itemsOf[M any](models []M) []item {
	items := make([]item, len(models))
	for i := range models {
		m := reflect.Indirect(reflect.ValueOf(models[i]))
		items[i] = item{name: m.FieldByName("Name").String(), key: numberOf(m.FieldByName("ID").Interface()), n: int(m.FieldByName("N").Int())}
	}
	return items
}

func pointersTo[M any](models []M) []*M {
	list := make([]*M, len(models))
	for i := range models {
		list[i] = &models[i]
	}
	return list
}

// rows is a way that uses models. create may leave out some of them.
func rows[M any](create func(ctx context.Context, ms *[]M) error) create {
	return func(ctx context.Context, items []item) ([]item, error) {
		ms := modelsOf[M](items)
		err := create(ctx, &ms)
		return itemsOf(ms), err
	}
}

// each is a way that uses one model at a time.
func each[M any](create func(ctx context.Context, m *M) error) create {
	return rows(func(ctx context.Context, ms *[]M) error {
		for i := range *ms {
			if err := create(ctx, &(*ms)[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// exec returns the error of a call that also has a result.
func exec[T any](_ T, err error) error { return err }
