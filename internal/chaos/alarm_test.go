package chaos

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey"
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
// ids are different, but the checker counts only claims whose reply arrived. It
// takes both leases of a for one, whose ids overlap those of b.
func TestFalseAlarmAfterALostReply(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = write
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))) // the bubble begins in 2000
		store, all := &leasetest.Memory{}, map[int64]bool{}
		open := func(s lease.Store) (*worker, *idgen.Pool) {
			w := &worker{layout: idgen.DefaultLayout()}
			w.store.Store = s
			pool, err := snowkey.Open(t.Context(), &w.store, snowkey.Config{MinWorker: 1, MaxWorker: 1, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			return w, pool
		}
		draw := func(w *worker, pool *idgen.Pool) {
			before := w.store.claims.Load()
			ids, err := w.take(pool, nil, 500)
			if err != nil {
				t.Fatal(err)
			}
			w.record(ids, before, w.store.claims.Load())
			w.drawn = time.Now().UnixMicro()
			w.flush()
			for _, id := range ids {
				all[id] = true
			}
		}
		wa, a := open(&lossy{Store: store})
		draw(wa, a)
		if err := a.Suspend(t.Context()); err != nil {
			t.Fatal(err)
		}
		wb, b := open(store)
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
		if len(all) != 1500 {
			t.Errorf("%d different ids, want 1500", len(all))
		}
	})
	os.Stdout = stdout
	write.Close()
	text, _ := io.ReadAll(read)
	f := &fleet{notes: map[string]int{}}
	var ps [2]*process
	for i := range ps {
		ps[i] = &process{fleet: f, label: []string{"process a", "process b"}[i]}
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for i := 0; lines.Scan(); i++ {
		ps[i%2].hear(lines.Text())
	}
	for _, p := range ps {
		p.endSpan()
	}
	if errs := f.check.Check(); len(errs) != 1 {
		t.Errorf("the checker reports %v, and not the false alarm that it is known for", errs)
	}
}
