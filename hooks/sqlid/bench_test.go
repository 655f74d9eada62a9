package sqlid_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/snowkey-go/snowkey/hooks/sqlid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
)

// BenchmarkFill is a call of Fill, drawing included.
func BenchmarkFill(b *testing.B) {
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(630), MaxAhead: idgen.NoLimit})
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close(context.Background())
	f := sqlid.New(pool)
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			rows := make([]byValue, n)
			b.ReportAllocs()
			for b.Loop() {
				clear(rows)
				if err := f.Fill(b.Context(), rows); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
