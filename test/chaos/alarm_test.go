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

// lossy is a store that commits the second claim but loses its reply.
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

// Process a draws 500 ids under a lease of worker number 1 and then releases it, as
// does process b after it. Then a leases worker number 1 once more and draws another
// 500 ids, but the reply to that claim is lost, so the keeper has to find the claim in
// the row. All 1,500 ids are different.
//
// An earlier checker only counted claims whose reply had arrived. It therefore mistook
// a's two leases for one, and falsely reported that b's ids overlap a's.
func TestNoFalseAlarmAfterALostReply(t *testing.T) {
	f := &fleet{check: NewChecker(t.TempDir(), idgen.DefaultLayout()), notes: map[string]int{}}
	var outA, outB bytes.Buffer
	all := map[int64]bool{}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))) // the bubble's clock starts in 2000
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
