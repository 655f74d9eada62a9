package zkstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/kvlease"
	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/zkstore"
)

var terms = lease.Terms{
	Namespace: "orders", Layout: "41/10/12", Epoch: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(),
	Unit: 1000, PerTick: 4096, Workers: 1024, Ahead: 12_000_000, Skew: 2_000_000, TTL: 900_000_000,
}

// A holder is a store with a lease of worker 7.
type holder struct {
	*testing.T
	kvtest.Operator
	conn *zk.Conn
	held lease.Row
}

func newHolder(t *testing.T, conn *zk.Conn, path string) *holder {
	t.Helper()
	h := &holder{t, operated(dbtest.Must(zkstore.New(conn).WithPath(path))(t), conn, path), conn, lease.Row{}}
	h.must(h.Migrate(t.Context()))
	dbtest.Must(h.CreateNamespace(t.Context(), terms, 0))(t)
	h.must(h.AddRows(t.Context(), terms, 7, 7))
	h.claim()
	return h
}

func (h *holder) must(err error) {
	h.Helper()
	dbtest.NoError(h, err)
}

func (h *holder) probe() lease.Probe {
	h.Helper()
	p, err := h.Probe(h.Context(), lease.Query{Terms: terms, Max: 1023, PreferWorker: -1})
	h.must(err)
	return p
}

// claim claims the row, and fences first if another leader was elected.
func (h *holder) claim() {
	h.Helper()
	p := h.probe()
	if p.Current != p.Fingerprint {
		h.must(h.Fence(h.Context(), terms, p.Fingerprint))
		p = h.probe()
	}
	row, ok, err := h.Claim(h.Context(), lease.Claim{Terms: terms, Seen: p.Row, Fence: p.Fence, Token: rand.Text(), Wanted: 1 << 62})
	h.must(err)
	if !ok {
		h.Fatalf("the claim of %+v was refused", p.Row)
	}
	h.held = row
}

func (h *holder) renew() bool { h.Helper(); return h.renewIn(h.Context()) }

func (h *holder) renewIn(ctx context.Context) bool {
	h.Helper()
	row, ok, err := h.Renew(ctx, lease.Renewal{Terms: terms, Held: h.held, Token: rand.Text(), Wanted: 1 << 62})
	h.must(err)
	if ok {
		h.held = row
	}
	return ok
}

// A renewal was prepared for a row that is deleted with its namespace, added again and
// claimed by another process before it arrives. The new nodes have the same versions.
func renewalOfADeletedRow(t *testing.T, servers []string) {
	conn := connect(t, servers...)
	late := newHolder(t, conn, "/deleted")
	requests := 0
	late.renewIn(&moment{Context: t.Context(), before: func(int) { requests++ }})
	deleteAll := func() {
		row, namespace := nodeOf("/deleted", terms, 7), nodeOf("/deleted", terms, kvlease.OfNamespace)
		for _, node := range []string{row, path.Dir(row), namespace} {
			late.must(conn.Delete(node, -1))
		}
	}
	deleteAll()
	late = newHolder(t, conn, "/deleted") // its nodes have been written as often as the next ones
	var other *holder
	ok := late.renewIn(&moment{Context: t.Context(), before: func(n int) {
		if n == requests {
			deleteAll()
			other = newHolder(t, conn, "/deleted")
		}
	}})
	if ok {
		t.Errorf("the renewal returned %+v", late.held)
	}
	if other.renew() {
		t.Error("the other process still has its lease, whose bound was overwritten")
	}
	other.must(other.AddRows(t.Context(), terms, 7, 7)) // as a process does that finds no row
	if r := dbtest.Must(other.Rows(t.Context(), terms, 7, 7))(t)[0]; r.Token != "" || r.Bound < other.held.Bound {
		t.Errorf("the row is %+v; want a free one that starts at or above the bound of %+v", r, other.held)
	}
}

// A renewal is one write of the row, and one that asks for the time.
func requestsOfARenewal(t *testing.T, servers []string) {
	h := newHolder(t, connect(t, servers...), "/requests")
	zxid := func() int64 {
		stat, err := h.conn.Set("/requests/clock", nil, -1)
		h.must(err)
		return stat.Mzxid
	}
	const n = 100
	before := zxid()
	for range n {
		if !h.renew() {
			t.Fatal("refused")
		}
	}
	if got := zxid() - before - 1; got != 2*n {
		t.Errorf("%d renewals were %d transactions", n, got)
	}
}

// A moment is a context that calls before with the number of each request of a call, from 1.
type moment struct {
	context.Context
	mu     sync.Mutex
	n      int
	before func(n int)
}

func (m *moment) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n++
	m.before(m.n)
	return m.Context.Err()
}

// A migration that ended before any of its requests is completed by the next process.
func interruptedMigration(t *testing.T, servers []string) {
	conn := connect(t, servers...)
	for n, interrupted := 1, true; interrupted; n++ {
		store := dbtest.Must(zkstore.New(conn).WithPath(fmt.Sprint("/apps/interrupted", n)))(t)
		ctx, cancel := context.WithCancel(t.Context())
		interrupted = store.Migrate(&moment{Context: ctx, before: func(request int) {
			if request == n {
				cancel()
			}
		}}) != nil
		cancel()
		ctx, cancel = context.WithTimeout(t.Context(), 20*time.Second)
		ids, err := snowkey.Open(ctx, store, snowkey.Config{MaxClockSkew: 100 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
		cancel()
		if err != nil {
			t.Fatalf("after %d requests: %v", n-1, err)
		}
		dbtest.NoError(t, ids.Close(t.Context()))
	}
}

// A claim is refused if the namespace is fenced before any of its requests.
func fenceDuringAClaim(t *testing.T, servers []string) {
	h := newHolder(t, connect(t, servers...), "/fence")
	for n := 1; ; n++ {
		_, err := h.Release(t.Context(), terms, h.held, h.held.Bound)
		h.must(err)
		p, fenced := h.probe(), false
		ctx := &moment{Context: t.Context(), before: func(request int) {
			if request != n {
				return
			}
			fenced = true
			later := terms
			later.Ahead += int64(n) * 1_000_000 // so that each fence is another one
			h.must(h.Fence(t.Context(), later, ""))
		}}
		row, ok, err := h.Claim(ctx, lease.Claim{Terms: terms, Seen: p.Row, Fence: p.Fence, Token: rand.Text(), Wanted: 1 << 62})
		h.must(err)
		if !fenced {
			if !ok || n < 4 {
				t.Errorf("a claim of %d requests that was not fenced returned %v", n-1, ok)
			}
			return
		}
		if ok {
			t.Errorf("a claim that was fenced before request %d returned %+v", n, row)
			return
		}
		h.claim()
	}
}

func errorsOfTheStore(t *testing.T, servers []string) {
	ctx := t.Context()
	conn := connect(t, servers...)
	probe := func(s *zkstore.Store) error {
		_, err := s.Probe(ctx, lease.Query{Terms: terms, Max: 1023})
		return err
	}

	if err := probe(zkstore.New(conn)); !errors.Is(err, lease.ErrNotMigrated) {
		t.Errorf("before the migration: %v", err)
	}

	const password = "a secret"
	owner := connect(t, servers...)
	dbtest.NoError(t, owner.AddAuth("digest", []byte("owner:"+password)))
	private := zkstore.New(owner).WithACL(zk.DigestACL(zk.PermAll, "owner", password))
	dbtest.NoError(t, private.Migrate(ctx))
	dbtest.NoError(t, probe(private))
	err := probe(zkstore.New(conn))
	if permanent, ok := errors.AsType[*lease.PermanentError](err); !ok || permanent.Remedy == "" || strings.Contains(err.Error(), password) {
		t.Errorf("without permission: %v", err)
	}

	open := dbtest.Must(zkstore.New(conn).WithPath("/open"))(t)
	for s, kinds := range map[*zkstore.Store]string{private: "", open: "world-writable"} {
		dbtest.NoError(t, s.Migrate(ctx))
		findings := dbtest.Must(s.Examine(ctx))(t)
		var got strings.Builder
		for _, f := range findings {
			got.WriteString(f.Kind)
		}
		if got.String() != kinds {
			t.Errorf("the findings are %+v, want %q", findings, kinds)
		}
	}

	row := nodeOf("/open", terms, 7)
	dbtest.NoError(t, open.AddRows(ctx, terms, 7, 7))
	for _, content := range []string{"7", "{", `{"text":7}`, `{"text":{"version":2,"bound":"x"}}`} {
		dbtest.Must(conn.Set(row, []byte(content), -1))(t)
		_, err := open.Rows(ctx, terms, 7, 7)
		if _, permanent := errors.AsType[*lease.PermanentError](err); !permanent || !strings.Contains(err.Error(), row) {
			t.Errorf("with the content %q: %v", content, err)
		}
	}

	for _, path := range []string{"", "/", "snowkey", "/a//b", "/a/", "/a/../b", "/zookeeper/x", "/a\x00"} {
		if _, err := open.WithPath(path); err == nil || !strings.Contains(err.Error(), "/apps/shop/snowkey") {
			t.Errorf("%q: %v", path, err)
		}
	}
	if err := probe(new(zkstore.Store)); err == nil {
		t.Error("the zero value has no error")
	}
}
