//go:build nightly

package autoinc_test

import (
	"os"
	"testing"

	"github.com/snowkey-go/snowkey/schema/autoinc"
)

// Each schema of testdata, and of the folder SCHEMAS if there is one, is reversed after
// each phase and then applied again.
func TestNightlySchemas(t *testing.T) {
	for _, folder := range []string{"testdata/schemas", os.Getenv("SCHEMAS")} {
		if folder == "" {
			continue
		}
		eachSchema(t, folder, func(t *testing.T, s shop, options autoinc.PlanOptions) {
			p, before, rows := plan(t, s.conn, options), s.whole(t), s.rows(t)
			for phases := 1; phases <= len(phaseNames); phases++ {
				for range phases {
					if _, err := autoinc.Apply(t.Context(), s.conn, p, autoinc.ApplyOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				require(t, "the rows", s.rows(t), rows)
				if err := autoinc.Undo(t.Context(), s.conn, p, autoinc.ApplyOptions{}); err != nil {
					t.Fatal(err)
				}
				require(t, "the catalog after undo", s.whole(t), before)
				require(t, "the rows after undo", s.rows(t), rows)
			}
			applyAll(t, s.conn, p, autoinc.ApplyOptions{})
			if v := verify(t, s.conn, p); v.Err() != nil {
				t.Errorf("not proven:\n%s", verdicts(t, v))
			}
		})
	}
}
