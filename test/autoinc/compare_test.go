package autoinc_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/test/internal/catalogtest"
)

// With a fence in place, writers may send keys while the column still counts. A program
// that compares its models at startup must be able to start at that time.
func TestCompareAlongTheWay(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db dbtest.DB) {
		s := newShop(t, db)
		fields := []catalog.Field{
			{Model: "User.Order", Table: catalog.Name{Name: "Us'er"}, Column: "Order", Unsigned: true},
			{Model: "Order.ID", Table: catalog.Name{Name: "orders"}, Column: "id", Unsigned: true},
			{Model: "Order.UserID", Table: catalog.Name{Name: "orders"}, Column: "user_id", Foreign: true, Unsigned: true},
		}
		p := plan(t, s.conn, autoinc.PlanOptions{})
		for _, want := range []struct {
			after    autoinc.PhaseName
			findings map[string]string
		}{
			{"", map[string]string{
				"postgres": "blocker:always-generated blocker:narrow-child blocker:narrow-key warning:still-counts",
				"mysql":    "blocker:narrow-child blocker:narrow-key blocker:still-counts",
				"sqlite":   "blocker:still-counts"}},
			{autoinc.Widen, map[string]string{"postgres": "blocker:always-generated warning:still-counts", "mysql": "blocker:still-counts", "sqlite": "blocker:still-counts"}},
			{autoinc.Fence, map[string]string{"postgres": "blocker:always-generated warning:still-counts", "mysql": "warning:still-counts", "sqlite": "warning:still-counts"}},
			{autoinc.SwitchOn, map[string]string{"postgres": "warning:still-counts", "mysql": "warning:still-counts", "sqlite": "warning:still-counts"}},
			{autoinc.Drop, nil},
			{autoinc.Guard, nil},
		} {
			for done := autoinc.PhaseName(""); done != want.after; {
				phase := dbtest.Must(autoinc.Apply(t.Context(), s.conn, p, autoinc.ApplyOptions{}))(t)
				done = phase.Name
			}
			err := catalog.Compare(t.Context(), s.conn, fields)
			if findings := want.findings[db.Dialect]; findings == "" && err != nil || findings != "" && catalogtest.Kinds(catalogtest.Differences(t, err).Findings) != findings {
				t.Errorf("after %q: %v, want %q", want.after, err, findings)
			}
		}
	})
}
