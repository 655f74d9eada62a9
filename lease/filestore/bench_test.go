package filestore

import (
	"strconv"
	"testing"

	"github.com/snowkey-go/snowkey/lease"
)

// A renewal has to wait for the disk two times. The remaining time depends on the
// number of rows.
func BenchmarkRenew(b *testing.B) {
	for _, workers := range []int64{1, 64, 1024} {
		b.Run(strconv.FormatInt(workers, 10), func(b *testing.B) {
			s, held := newStore(b, 1)
			for worker := range workers {
				if err := s.AddRows(b.Context(), terms, worker, worker); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				row, ok, err := s.Renew(b.Context(), lease.Renewal{Terms: terms, Held: held, Token: "another", Wanted: 1 << 62})
				if !ok || err != nil {
					b.Fatal(ok, err)
				}
				held = row
			}
		})
	}
}
