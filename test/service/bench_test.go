package service_test

import (
	"context"
	"database/sql"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/service"
	"github.com/snowkey-go/snowkey/service/client"
)

// BenchmarkRequests compares a request for one id with a request to a handler that does
// nothing, and with SELECT nextval() on Postgres, with 8 connections each. The metric p99
// is in microseconds.
func BenchmarkRequests(b *testing.B) {
	ids, err := idgen.NewPool(idgen.Config{Worker: worker.Static(1)})
	if err != nil {
		b.Fatal(err)
	}
	defer ids.Close(context.Background())
	handler, err := service.NewHandler(ids, service.Config{})
	if err != nil {
		b.Fatal(err)
	}
	post := func(h http.Handler) (func() error, func()) {
		s := httptest.NewServer(h)
		transport := &http.Transport{MaxIdleConnsPerHost: 100}
		return func() error {
			response, err := (&http.Client{Transport: transport}).Post(s.URL+"/v1/ids", "", nil)
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, response.Body)
			response.Body.Close()
			return err
		}, s.Close
	}
	b.Run("empty handler", func(b *testing.B) {
		call, stop := post(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		defer stop()
		measure(b, call)
	})
	b.Run("one id", func(b *testing.B) {
		call, stop := post(handler)
		defer stop()
		measure(b, call)
	})
	b.Run("nextval", func(b *testing.B) {
		conn := dbtest.Postgres(b).Connect(b)
		if _, err := conn.Exec("CREATE SEQUENCE s"); err != nil {
			b.Fatal(err)
		}
		conn.SetMaxIdleConns(8)
		measure(b, func() error {
			var n sql.NullInt64
			return conn.QueryRow("SELECT nextval('s')").Scan(&n)
		})
	})
	b.Run("client", func(b *testing.B) { next(b, handler) })

	// The default layout has 4,096 ids per millisecond, so an id takes at least 244 ns.
	// Nothing holds the client back with a layout that has more.
	layout, err := idgen.ParseLayout("0:1 │ time:41 × 1ms since 2025-01-01T00:00:00Z │ worker:6 │ sequence:16")
	if err != nil {
		b.Fatal(err)
	}
	more, err := idgen.NewPool(idgen.Config{Layout: layout, Worker: worker.Static(1)})
	if err != nil {
		b.Fatal(err)
	}
	defer more.Close(context.Background())
	if handler, err = service.NewHandler(more, service.Config{}); err != nil {
		b.Fatal(err)
	}
	b.Run("client, 65,536 ids per millisecond", func(b *testing.B) { next(b, handler) })
}

// next draws ids one by one with the client, which fetches 1,000 at once.
func next(b *testing.B, handler http.Handler) {
	b.Helper()
	s := httptest.NewServer(handler)
	defer s.Close()
	c, err := client.New([]string{s.URL}, client.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for b.Loop() {
		if _, err := c.Next(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// measure runs calls in 8 goroutines.
func measure(b *testing.B, call func() error) {
	b.Helper()
	var group sync.WaitGroup
	times := make([][]time.Duration, 8)
	b.ResetTimer()
	for i := range times {
		group.Go(func() {
			for range (b.N + 7) / 8 {
				began := time.Now()
				if err := call(); err != nil {
					b.Error(err)
					return
				}
				times[i] = append(times[i], time.Since(began))
			}
		})
	}
	group.Wait()
	all := slices.Concat(times...)
	slices.Sort(all)
	b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "calls/s")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
}
