package pk_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/schema/pk"
)

func BenchmarkID(b *testing.B)       { bench(b, pk.ID(high)) }
func BenchmarkText(b *testing.B)     { bench(b, pk.Text(high)) }
func BenchmarkSortText(b *testing.B) { bench(b, pk.SortText(high)) }
func BenchmarkOf(b *testing.B)       { bench(b, pk.Of[user](high)) }
func BenchmarkString(b *testing.B)   { bench(b, pk.String(decimal(high))) }

func bench[K key, P pointer[K]](b *testing.B, k K) {
	buf := make([]byte, 0, 64)
	text, _ := k.MarshalText()
	object, _ := k.MarshalJSON()
	var column any = text
	for _, c := range []struct {
		name string
		do   func() error
	}{
		{"AppendText", func() (err error) { buf, err = k.AppendText(buf[:0]); return err }},
		{"MarshalText", func() error { _, err := k.MarshalText(); return err }},
		{"UnmarshalText", func() error { return P(&k).UnmarshalText(text) }},
		{"MarshalJSON", func() error { _, err := k.MarshalJSON(); return err }},
		{"UnmarshalJSON", func() error { return P(&k).UnmarshalJSON(object) }},
		{"Value", func() error { _, err := k.Value(); return err }},
		{"Scan", func() error { return P(&k).Scan(column) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
