package sqlstore_test

import (
	"database/sql"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// BenchmarkLease claims and renews leases on servers that flush to disk. It reports the
// time within which 99 out of 100 statements complete.
func BenchmarkLease(b *testing.B) {
	for _, dialect := range dbtest.Servers(b) {
		b.Run(dialect, func(b *testing.B) {
			db := dbtest.Durable(b, dialect)
			store := map[string]func(*sql.DB) *sqlstore.Store{"postgres": sqlstore.Postgres, "mysql": sqlstore.MySQL}[dialect](db.Connect(b))
			ctx := b.Context()
			c := free(b, store)
			row := c.Seen
			expired := terms
			expired.TTL = -1e6
			measure(b, "probe", func() error {
				_, err := store.Probe(ctx, lease.Query{Terms: terms, Max: 1023})
				return err
			})
			claim := func(terms lease.Terms) func() error {
				return func() (err error) {
					var ok bool
					row, ok, err = store.Claim(ctx, lease.Claim{Terms: terms, Seen: row, Fence: c.Fence, Token: "a", Wanted: 1 << 62})
					return granted(ok, err)
				}
			}
			measure(b, "claim", claim(expired))
			if err := claim(terms)(); err != nil {
				b.Fatal(err)
			}
			measure(b, "renew", func() (err error) {
				var ok bool
				row, ok, err = store.Renew(ctx, lease.Renewal{Terms: terms, Held: row, Token: "b", Wanted: 1 << 62})
				return granted(ok, err)
			})
		})
	}
}

func granted(ok bool, err error) error {
	if !ok && err == nil {
		err = errors.New("refused")
	}
	return err
}

func measure(b *testing.B, name string, call func() error) {
	b.Run(name, func(b *testing.B) {
		var took []time.Duration
		for b.Loop() {
			began := time.Now()
			if err := call(); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	})
}
