package zkstore

import (
	"context"
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

var terms = kvtest.Terms

// newProcess returns a process with a lease.
func newProcess(t *testing.T, conn *zk.Conn, path string) *kvtest.Process {
	t.Helper()
	p := &kvtest.Process{T: t, Store: dbtest.Must(zkstore.New(conn).WithPath(path))(t)}
	p.Must(p.Migrate(t.Context()))
	p.Add()
	p.Lease()
	return p
}

// A renewal was prepared for a row that is deleted with its namespace, added again and
// claimed by another process before it arrives. The new nodes have the same versions.
func renewalOfADeletedRow(t *testing.T, servers []string) {
	conn := connect(t, servers...)
	late := newProcess(t, conn, "/deleted")
	requests := 0
	late.Renewed(&moment{Context: t.Context(), before: func(int) { requests++ }})
	deleteAll := func() {
		row, namespace := nodeOf("/deleted", terms, 7), nodeOf("/deleted", terms, kvlease.OfNamespace)
		for _, node := range []string{row, path.Dir(row), namespace} {
			dbtest.NoError(t, conn.Delete(node, -1))
		}
	}
	deleteAll()
	late = newProcess(t, conn, "/deleted") // its nodes have been written as often as the next ones
	var other *kvtest.Process
	ok := late.Renewed(&moment{Context: t.Context(), before: func(n int) {
		if n == requests {
			deleteAll()
			other = newProcess(t, conn, "/deleted")
		}
	}})
	if ok {
		t.Errorf("the renewal returned %+v", late.Held)
	}
	if other.Renewed(t.Context()) {
		t.Error("the other process still has its lease, whose bound was overwritten")
	}
	other.Add() // as a process does that finds no row
	if r := other.Row(); r.Token != "" || r.Bound < other.Held.Bound {
		t.Errorf("the row is %+v; want a free one that starts at or above the bound of %+v", r, other.Held)
	}
}

// A renewal is one write of the row, and one that asks for the time.
func requestsOfARenewal(t *testing.T, servers []string) {
	conn := connect(t, servers...)
	p := newProcess(t, conn, "/requests")
	zxid := func() int64 {
		return dbtest.Must(conn.Set("/requests/clock", nil, -1))(t).Mzxid
	}
	const n = 100
	before := zxid()
	for range n {
		if !p.Renewed(t.Context()) {
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
	p := newProcess(t, connect(t, servers...), "/fence")
	for n := 1; ; n++ {
		dbtest.Must(p.Release(t.Context(), terms, p.Held, p.Held.Bound))(t)
		c, fenced := p.ClaimOf(p.Look()), false
		ctx := &moment{Context: t.Context(), before: func(request int) {
			if request != n {
				return
			}
			fenced = true
			later := terms
			later.Ahead += int64(n) * 1_000_000 // so that each fence is another one
			p.Must(p.Fence(t.Context(), later, ""))
		}}
		row, ok, err := p.Claim(ctx, c)
		p.Must(err)
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
		p.Lease()
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
}
