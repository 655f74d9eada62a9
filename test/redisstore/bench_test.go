package redisstore

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/redisstore"
)

// BenchmarkFirstID measures what the hold-off costs: the time from Open to the first id,
// in a namespace that exists.
func BenchmarkFirstID(b *testing.B) {
	for name, skew := range map[string]time.Duration{"MaxClockSkew=1s": time.Second, "MaxClockSkew=100ms": 100 * time.Millisecond} {
		b.Run(name, func(b *testing.B) {
			store := redisstore.New(connect(b, dbtest.Redis("--appendonly", "yes").Start(b).Address))
			cfg := snowkey.Config{Namespace: "orders", MaxClockSkew: skew}
			first := func() {
				pool, err := snowkey.Open(b.Context(), store, cfg)
				if err != nil {
					b.Fatal(err)
				}
				defer pool.Close(b.Context())
				if _, err := pool.Next(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			first() // creates the namespace
			for b.Loop() {
				first()
			}
		})
	}
}

// BenchmarkLease measures the requests of a lease.
func BenchmarkLease(b *testing.B) {
	for name, args := range map[string][]string{
		"appendfsync=always":   {"--appendonly", "yes", "--appendfsync", "always"},
		"appendfsync=everysec": {"--appendonly", "yes"},
	} {
		store := redisstore.New(connect(b, dbtest.Redis(args...).Start(b).Address))
		if err := store.AddRows(b.Context(), terms, 0, 1023); err != nil {
			b.Fatal(err)
		}
		if _, err := store.CreateNamespace(b.Context(), terms, 0); err != nil {
			b.Fatal(err)
		}
		query := lease.Query{Terms: terms, Max: 1023, PreferWorker: -1}
		b.Run(name+"/probe", func(b *testing.B) {
			for b.Loop() {
				if p, err := store.Probe(b.Context(), query); err != nil || !p.HasFree {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/renew", func(b *testing.B) {
			p, err := store.Probe(b.Context(), query)
			if err != nil {
				b.Fatal(err)
			}
			row, ok, err := store.Claim(b.Context(), lease.Claim{Terms: terms, Seen: p.Row, Fence: p.Fence, Token: rand.Text(), Volatile: true})
			for b.Loop() {
				if !ok || err != nil {
					b.Fatal(ok, err)
				}
				row, ok, err = store.Renew(b.Context(), lease.Renewal{Terms: terms, Held: row, Token: rand.Text(), Wanted: 1 << 62, Volatile: true})
			}
		})
	}
}
