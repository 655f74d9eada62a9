package pgxid_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/snowkey-go/snowkey/hooks/pgxid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// drain reads rows as pgx does and forgets them.
type drain struct{}

func (drain) CopyFrom(_ context.Context, _ pgx.Identifier, _ []string, rows pgx.CopyFromSource) (n int64, err error) {
	for rows.Next() {
		if _, err := rows.Values(); err != nil {
			return 0, err
		}
		n++
	}
	return n, rows.Err()
}

// BenchmarkCopyFrom is what filling adds to a COPY of 10,000 rows, drawing
// included.
func BenchmarkCopyFrom(b *testing.B) {
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(620), MaxAhead: idgen.NoLimit})
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close(context.Background())
	const rows = 10_000
	ids := make([]pk.ID, rows)
	for name, cell := range map[string]func(int) any{
		"pointer": func(i int) any { return &ids[i] },
		"value":   func(i int) any { return ids[i] },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			row := make([]any, 2)
			source := func() pgx.CopyFromSource {
				return pgx.CopyFromSlice(rows, func(i int) ([]any, error) {
					row[0], row[1] = cell(i), "name"
					return row, nil
				})
			}
			for b.Loop() {
				clear(ids)
				if _, err := (pgxid.Copier{Source: pool}).CopyFrom(b.Context(), drain{}, nil, []string{"id", "name"}, source()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}

// BenchmarkList encodes a list of keys, and a list of plain integers for comparison.
func BenchmarkList(b *testing.B) {
	m := pgtype.NewMap()
	pgxid.Register(m)
	keys, numbers := make([]pk.ID, 1000), make([]int64, 1000)
	for i := range keys {
		keys[i], numbers[i] = pk.ID(1234567890123456789+int64(i)), 1234567890123456789+int64(i)
	}
	for _, list := range []any{keys, numbers} {
		for format, name := range map[int16]string{pgtype.TextFormatCode: "exec", pgtype.BinaryFormatCode: "described"} {
			oid := uint32(0)
			if format == pgtype.BinaryFormatCode {
				oid = pgtype.Int8ArrayOID
			}
			b.Run(fmt.Sprintf("%T/%s", list, name), func(b *testing.B) {
				b.ReportAllocs()
				var buf []byte
				for b.Loop() {
					var err error
					if buf, err = m.Encode(oid, format, list, buf[:0]); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
