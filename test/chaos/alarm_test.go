//go:build unix

package chaos

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

// lossy commits the second claim and loses its reply.
type lossy struct {
	lease.Store
	claims int
}

func (s *lossy) Claim(ctx context.Context, c lease.Claim) (lease.Row, bool, error) {
	row, ok, err := s.Store.Claim(ctx, c)
	if s.claims++; s.claims == 2 {
		return lease.Row{}, false, errors.New("the reply is lost")
	}
	return row, ok, err
}

// Process a draws 500 ids under a lease of worker 1 and releases it. Process b
// does the same. Then a leases worker 1 again and draws 500 ids more. The reply
// to that claim is lost, and the keeper finds the claim in the row. All 1,500
// ids are different.
//
// An earlier checker counted the claims whose reply arrived. It took both leases
// of a for one, and reported that b's ids overlap its ids.
func TestNoFalseAlarmAfterALostReply(t *testing.T) {
	f := &fleet{check: NewChecker(t.TempDir(), idgen.DefaultLayout()), notes: map[string]int{}}
	var outA, outB bytes.Buffer
	all := map[int64]bool{}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))) // the bubble begins in 2000
		store := &leasetest.Memory{}
		open := func(s lease.Store, out *bytes.Buffer) (*worker, *idgen.Pool) {
			w := newWorker(idgen.DefaultLayout(), out)
			pool, err := w.open(t.Context(), s, Orders{MinWorker: 1, MaxWorker: 1}, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			return w, pool
		}
		draw := func(w *worker, pool *idgen.Pool) {
			ids, err := w.take(pool, nil, 500)
			if err != nil {
				t.Fatal(err)
			}
			w.flush()
			for _, id := range ids {
				all[id] = true
			}
		}
		lossy := &lossy{Store: store}
		wa, a := open(lossy, &outA)
		draw(wa, a)
		if err := a.Suspend(t.Context()); err != nil {
			t.Fatal(err)
		}
		wb, b := open(store, &outB)
		draw(wb, b)
		if err := b.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := a.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		draw(wa, a)
		if err := a.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if lossy.claims < 2 {
			t.Error("no reply was lost")
		}
	})
	if len(all) != 1500 {
		t.Errorf("%d different ids, want 1500", len(all))
	}
	for label, out := range map[string]*bytes.Buffer{"process a": &outA, "process b": &outB} {
		j, err := f.check.Journal(label)
		if err != nil {
			t.Fatal(err)
		}
		p := &process{fleet: f, label: label, journal: j}
		for line := range strings.Lines(out.String()) {
			p.hear(strings.TrimSuffix(line, "\n"))
		}
		defer j.Close()
	}
	for _, text := range f.bad {
		t.Error(text)
	}
	found, totals, duplicates := check(t, f.check)
	if totals.IDs != 1500 || totals.Leases != 3 || duplicates != 0 {
		t.Errorf("%d duplicates among %d ids under %d leases, want 0 among 1500 under 3: %v", duplicates, totals.IDs, totals.Leases, found)
	}
}
