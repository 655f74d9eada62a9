package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/keeper"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/filestore"
)

// eachStore runs f for each kind of store. The arguments tell a command to use that
// store.
func eachStore(t *testing.T, f func(t *testing.T, s store, args []string)) {
	t.Run("filestore", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "leases")
		f(t, filestore.Dir(dir), []string{"--dir", dir})
	})
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		f(t, dbtest.Must(sqlStore(db.Dialect, "", db.Connect(t)))(t), []string{"--dsn", db.DSN})
	})
}

// hold leases a worker number, which the test keeps until it ends.
func hold(t *testing.T, s store, cfg snowkey.Config) *idgen.Pool {
	t.Helper()
	ids := tryHold(t, s, time.Minute, cfg)
	if ids == nil {
		t.Fatal("no worker number became free in a minute")
	}
	return ids
}

// tryHold is hold, but returns nil if no worker number becomes free within wait.
func tryHold(t *testing.T, s store, wait time.Duration, cfg snowkey.Config) *idgen.Pool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	cfg.MaxClockSkew = 10 * time.Millisecond
	ids, err := snowkey.Open(ctx, s, cfg)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ids.Close(context.Background()) }) // ignore the error, since the test may have closed it already
	return ids
}

func TestWorkers(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store, args []string) {
		workers := func(more ...string) (all []keeper.Worker) {
			t.Helper()
			got := call(t, nil, append(append([]string{"workers", "--json"}, args...), more...)...)
			if err := json.Unmarshal([]byte(got.out), &all); err != nil || got.status != 0 {
				t.Fatalf("%+v: %v", got, err)
			}
			return all
		}
		before := time.Now().Truncate(time.Second)
		a := hold(t, s, snowkey.Config{Label: "pod a"})
		hold(t, s, snowkey.Config{Label: "pod b\x1b[31m", Namespace: "orders", Layout: idgen.JSSafe()})
		number, _ := a.Worker()
		all := workers()
		if len(all) != 2 {
			t.Fatalf("%+v", all)
		}
		first, second := all[0], all[1]
		if first.Namespace != "default" || first.Number != number || first.State != "leased" || first.Label != "pod a" || first.Layout != idgen.DefaultLayout().String() ||
			first.Since.Before(before) || first.Since.After(time.Now()) || !first.Expires.After(time.Now()) || first.Expires.After(time.Now().Add(20*time.Second)) {
			t.Errorf("%+v", first)
		}
		if second.Namespace != "orders" || second.Layout != idgen.JSSafe().String() {
			t.Errorf("%+v", second)
		}
		if one := workers("--namespace", "orders"); len(one) != 1 || one[0].Number != second.Number {
			t.Errorf("%+v", one)
		}
		got := call(t, nil, append([]string{"workers"}, args...)...)
		if got.status != 0 || !strings.Contains(got.out, "pod a") || strings.Contains(got.out, "\x1b") || !strings.Contains(got.out, `pod b\x1b[31m`) {
			t.Errorf("%+v", got)
		}
		dbtest.NoError(t, a.Close(t.Context()))
		if one := workers("--namespace", "default"); len(one) != 0 {
			t.Errorf("after Close: %+v", one)
		}
		for _, w := range workers("--namespace", "default", "--all") {
			if w.State != "free" || w.Since != nil || w.Expires != nil {
				t.Errorf("%+v", w)
			}
		}
	})
}

// TestWorkersFree frees the worker number of a process, which can then be leased again
// immediately. If its holder is still running, it loses the lease. No id may be
// repeated.
func TestWorkersFree(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store, args []string) {
		lost := make(chan struct{}, 100)
		cfg := snowkey.Config{Window: time.Second, MinWorker: 7, MaxWorker: 8, OnLost: func(*lease.LostError) { lost <- struct{}{} }}
		old := hold(t, s, cfg)
		number, _ := old.Worker()
		n := strconv.FormatInt(number, 10)
		seen := make(map[int64]bool)
		draw := func(ids *idgen.Pool, n int) {
			t.Helper()
			for range n {
				id := dbtest.Must(ids.Next(t.Context()))(t)
				if seen[id] {
					t.Errorf("%d was issued before", id)
				}
				seen[id] = true
			}
		}
		draw(old, 100)
		free := func(more ...string) called {
			return call(t, nil, append(append([]string{"workers", "free"}, args...), more...)...)
		}
		free(n).says(t, 1, "--yes")
		free("500", "--yes").says(t, 1) // it has no row
		free(n, "--yes", "--namespace", "nowhere").says(t, 1, "nowhere")
		// The old holder may renew its lease at any moment, so we may have to try again. It
		// may also lose the number and lease it again before the next holder can.
		var next *idgen.Pool
		for next == nil {
			got := free(n, "--yes")
			for i := 0; got.status != 0 && i < 20; i++ {
				got = free(n, "--yes")
			}
			if got.status != 0 || !strings.Contains(got.out, "worker "+n+" is free; it was leased") {
				t.Fatalf("%+v", got)
			}
			draw(old, 100)
			next = tryHold(t, s, 3*time.Second, snowkey.Config{Window: time.Second, MinWorker: number, MaxWorker: number})
		}
		draw(next, 100)
		draw(old, 1)
		<-lost
		draw(next, 100)
	})
}

func TestDoctorAndFence(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store, args []string) {
		doctor := append([]string{"doctor"}, args...)
		fence := append([]string{"fence"}, args...)
		dbtest.NoError(t, s.Migrate(t.Context()))
		for _, command := range [][]string{doctor, append(fence, "--yes")} {
			call(t, nil, command...).says(t, 1, `"default"`)
		}
		ids := hold(t, s, snowkey.Config{MinWorker: 1, MaxWorker: 1})
		call(t, nil, append(doctor, "--min-worker", "1", "--max-worker", "1")...).prints(t, 1, "crowded: ", "→")
		var found []struct{ Kind, Text, Remedy string }
		got := call(t, nil, append(doctor, "--json", "--min-worker", "1", "--max-worker", "1")...)
		if err := json.Unmarshal([]byte(got.out), &found); err != nil || len(found) == 0 || found[len(found)-1].Kind != "crowded" || found[len(found)-1].Remedy == "" {
			t.Errorf("%+v: %v", got, err)
		}
		if got := call(t, nil, doctor...); strings.Contains(got.out, "crowded") {
			t.Errorf("of all workers: %+v", got)
		}
		dbtest.NoError(t, ids.Close(t.Context()))
		call(t, nil, fence...).says(t, 1, "--yes")
		call(t, nil, append(fence, "--yes", "--window", "20s")...).prints(t, 0, "is fenced")
		ids = hold(t, s, snowkey.Config{Window: time.Minute, MaxAhead: 24 * time.Hour})
		next := dbtest.Must(ids.Next(t.Context()))(t)
		if ahead := time.Until(idgen.DefaultLayout().Decode(next).Time); ahead < 10*time.Second {
			t.Errorf("the next id is %v ahead", ahead)
		}
	})
}

// TestInit checks that the statements printed by init create usable tables, and that its
// migration has the same ones and removes the tables again.
func TestInit(t *testing.T) {
	t.Parallel()
	dbtest.EachServer(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		got := call(t, nil, "init", "--dialect", db.Dialect, "--json", "--table", "app_leases")
		var printed struct {
			Statements []string
			Applied    bool
		}
		if err := json.Unmarshal([]byte(got.out), &printed); err != nil || got.status != 0 || printed.Applied {
			t.Fatalf("%+v: %v", got, err)
		}
		conn := db.Connect(t)
		for range 2 { // running them again must not change anything
			dbtest.Exec(t, conn, printed.Statements...)
		}
		hold(t, dbtest.Must(sqlStore(db.Dialect, "app_leases", conn))(t), snowkey.Config{SkipMigrate: true})
		dir, quote := t.TempDir(), map[string]string{"postgres": `"`, "mysql": "`"}[db.Dialect]
		down := []string{"DROP TABLE " + quote + "app_leases" + quote, "DROP TABLE " + quote + "app_leases_ns" + quote}
		call(t, nil, "init", "--dialect", db.Dialect, "--table", "app_leases", "--files", dir, "--format", "golang-migrate").prints(t, 0, ".up.sql")
		requireMigration(t, dir, "snowkey_leases", printed.Statements, down)
		dbtest.Exec(t, conn, down...)

		for range 2 {
			call(t, nil, "init", "--dsn", db.DSN, "--apply").prints(t, 0, "the tables exist")
		}
		hold(t, dbtest.Must(sqlStore(db.Dialect, "", conn))(t), snowkey.Config{SkipMigrate: true})
	})
}
