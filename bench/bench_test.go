package main

import (
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// Benchmark runs the table's workloads and their yardsticks as ordinary Go benchmarks.
func Benchmark(b *testing.B) {
	s := dbtest.Must(open(b.TempDir()))(b)
	b.Cleanup(func() {
		if err := s.close(); err != nil {
			b.Error(err)
		}
	})
	for _, topic := range s.topics {
		b.Run(topic.name, func(b *testing.B) {
			for _, t := range topic.trials {
				if t.alone != nil {
					continue
				}
				benchmark(b, t.name, t.work)
				benchmark(b, t.name+"/beside "+t.against, t.yardstick)
			}
		})
	}
}

func benchmark(b *testing.B, name string, w workload) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		dbtest.NoError(b, w(b.N))
	})
}
