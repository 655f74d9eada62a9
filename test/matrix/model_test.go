package matrix

import "context"

// Cells has the other columns of a model. The type has to be exported, since GORM
// ignores embedded structs that aren't.
type Cells struct {
	Name string `gorm:"size:40"`
	N    int
}

// A model declares an item in the way that an integration requires.
type model[M any] interface {
	*M
	set(i item)
	get() item
}

// modelsOf turns items into models.
func modelsOf[M any, P model[M]](items []item) []M {
	models := make([]M, len(items))
	for i := range models {
		P(&models[i]).set(items[i])
	}
	return models
}

// itemsOf turns models into items.
func itemsOf[M any, P model[M]](models []M) []item {
	items := make([]item, len(models))
	for i := range models {
		items[i] = P(&models[i]).get()
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
func rows[M any, P model[M]](create func(ctx context.Context, ms *[]M) error) create {
	return func(ctx context.Context, items []item) ([]item, error) {
		ms := modelsOf[M, P](items)
		err := create(ctx, &ms)
		return itemsOf[M, P](ms), err
	}
}

// each is a way that uses one model at a time.
func each[M any, P model[M]](create func(ctx context.Context, m *M) error) create {
	return rows[M, P](func(ctx context.Context, ms *[]M) error {
		for i := range *ms {
			if err := create(ctx, &(*ms)[i]); err != nil {
				return err
			}
		}
		return nil
	})
}
