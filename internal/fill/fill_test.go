package fill_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/fill"
	"github.com/snowkey-go/snowkey/internal/idtest"
)

func TestErrorTexts(t *testing.T) {
	cause := errors.New("cause")
	k := &fill.Key{Package: "gormid", Model: "shop.User", Field: "ID", Type: "int32"}
	model := &fill.Key{Package: "gormid", Model: "shop.User"}
	for _, c := range []struct {
		err  error
		want string
	}{
		{k.Fault("is narrow", "use int64"), "gormid: shop.User.ID (int32) is narrow; use int64"},
		{model.Fault("has no key", "add one"), "gormid: shop.User has no key; add one"},
		{k.Refuse(2, nil, "is nil", "leave it out"), "gormid: row 2 of shop.User is nil; leave it out"},
		{k.Refuse(-1, cause, "got no keys: cause", "retry"), "gormid: shop.User got no keys: cause; retry"},
	} {
		if c.err.Error() != c.want {
			t.Errorf("got %q, want %q", c.err, c.want)
		}
	}
	if err := k.Refuse(-1, cause, "got no keys", "retry"); !errors.Is(err, cause) {
		t.Errorf("%v does not wrap its cause", err)
	}
}

// zeros is a source that is broken.
type zeros struct{ idgen.Source }

func (zeros) Append(_ context.Context, dst []int64, n int) ([]int64, error) {
	return append(dst, make([]int64, n)...), nil
}

func TestDraw(t *testing.T) {
	pool := errtest.Must(idgen.NewPool(idgen.Config{Worker: worker.Static(5)}))(t)
	defer pool.Close(t.Context())
	full := errors.New("full")
	plain, named := fill.Key{Package: "p", Model: "m"}, fill.Key{Package: "p", Model: "m", Field: "ID", Type: "int64", Generator: "orders"}

	for _, c := range []struct {
		name   string
		key    fill.Key
		source idgen.Source
		is     error
		want   string
	}{
		{"the source", plain, new(idtest.Source), nil, ""},
		{"a pool", plain, pool, nil, ""},
		{"a generator of a pool", named, pool, nil, ""},
		{"no pool", plain, nil, idgen.ErrNoPool, "p: m got no keys for 3 rows: " + idgen.ErrNoPool.Error() + "; nothing was changed"},
		{"no pool for a name", named, nil, idgen.ErrNoPool, "p: m got no keys for 3 rows: " + idgen.ErrNoPool.Error() + "; nothing was changed"},
		{"no generators", named, new(idtest.Source), nil, `p: m.ID (int64) names the generator "orders", but its source is a *idtest.Source, not a pool; use an *idgen.Pool as the source, or remove the name from the tag`},
		{"the source fails", plain, &idtest.Source{Err: full}, full, "p: m got no keys for 3 rows: full; nothing was changed"},
		{"too few", plain, &idtest.Source{Short: 1}, nil, "p: m got no keys for 3 rows: the source returned 2 ids instead of 3; nothing was changed"},
		{"none", plain, &idtest.Source{Short: 3}, nil, "p: m got no keys for 3 rows: the source returned 0 ids instead of 3; nothing was changed"},
		{"too many", plain, &idtest.Source{Short: -1}, nil, "p: m got no keys for 3 rows: the source returned 4 ids instead of 3; nothing was changed"},
		{"zeros", plain, zeros{}, nil, "p: m got no keys for 3 rows: the source returned 0; nothing was changed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ids, err := c.key.Draw(context.Background(), c.source, []int{0, 1, 2}, nil)
			if c.want == "" {
				if err != nil || len(ids) != 3 || !slices.IsSorted(ids) {
					t.Errorf("got %v, %v; want three ids", ids, err)
				}
				return
			}
			if err == nil || err.Error() != c.want || c.is != nil && !errors.Is(err, c.is) || ids != nil {
				t.Errorf("got %v, %v\nwant %s", ids, err, c.want)
			}
		})
	}

	idgen.SetDefault(pool)
	defer idgen.SetDefault(nil)
	for _, k := range []fill.Key{plain, named} {
		if ids, err := k.Draw(t.Context(), nil, []int{0, 1, 2}, nil); err != nil || len(ids) != 3 || pool.Layout().Decode(ids[0]).Worker != 5 {
			t.Errorf("from the default pool: %v, %v", ids, err)
		}
	}
}
