package filestore

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/lease"
)

// The directory is removed while a process has issued all that it was granted, and the
// clock is set back by less than MaxClockSkew. The next process must not issue the same ids.
func TestRemovedAndClockSetBack(t *testing.T) {
	path := t.TempDir() + "/leases"
	layout := errtest.Must(idgen.ParseLayout("0:20 │ time:41 × 1ms since 2026-01-01T00:00:00Z │ worker:2 │ sequence:1"))(t)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)))
		var ahead atomic.Int64
		clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		start := func() *idgen.Pool {
			s := Dir(path)
			s.clock = clock
			return open(t, s, snowkey.Config{Layout: layout, Clock: clock, MaxAhead: idgen.NoLimit, MinWorker: 1, MaxWorker: 1})
		}
		start().Close(t.Context()) // creates the namespace
		time.Sleep(time.Minute)
		pool := start()
		worker := workerOf(t, pool)
		terms := lease.Terms{Namespace: "default", Layout: layout.String()}
		rows, err := Dir(path).Rows(t.Context(), terms, worker, worker)
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		last := int64(0)
		for last < rows[0].Bound-1 {
			last = counter(errtest.Must(pool.Next(t.Context()))(t))
		}
		errtest.NoError(t, os.RemoveAll(path))
		ahead.Store(int64(-900 * time.Millisecond))
		next := errtest.Must(start().Next(t.Context()))(t)
		if first := counter(next); first <= last {
			t.Errorf("the next process starts at %d, but %d was issued", first, last)
		}
	})
}

// counter returns tick and sequence of an id.
func counter(id int64) int64 {
	return id>>3<<1 | id&1
}

// Between the read and the write of a renewal, the file is replaced by a copy, and the lease
// expires. Another process may have had the row, which the copy lacks.
func TestCopiedDuringARenewal(t *testing.T) {
	for _, copied := range []bool{false, true} {
		s, held := newStore(t, 1)
		path := filepath.Join(s.path, fileName("ns"))
		calls := 0
		s.clock = func() time.Time {
			if calls++; calls < 2 {
				return time.Now()
			}
			if text, err := os.ReadFile(path); err == nil && copied && calls == 2 {
				if err := errors.Join(os.WriteFile(path+".copy", text, 0o600), os.Rename(path+".copy", path)); err != nil {
					t.Error(err)
				}
			}
			return time.Now().Add(2 * time.Hour)
		}
		if ok := renewed(t, s, held); ok == copied {
			t.Errorf("copied %v, renewed %v", copied, ok)
		}
	}
}
