package main

import (
	"bytes"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestHerd runs every study of the herd briefly, with only a few processes.
func TestHerd(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	var out bytes.Buffer
	table, err := measureHerd(&out, t.TempDir(), "", herd{
		starts: []int{8}, live: 2, limit: 30 * time.Second, stay: 100 * time.Millisecond,
		opens: 3, rest: time.Second,
		outage: time.Second, running: 8, warm: 1500 * time.Millisecond,
		workers: 16, waiters: 4, watch: 500 * time.Millisecond, freed: 2,
		short:    []shortLived{{10, true, time.Second}, {10, false, time.Second}},
		patience: 5 * time.Second,
		cfg:      snowkey.Config{Window: time.Second, MaxClockSkew: 100 * time.Millisecond},
	})
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "not measured") {
		t.Error("a study was not measured")
	}
	for i, study := range herdStudies() {
		sheet := table.sheets[i]
		if len(sheet.rows) == 0 && len(dbtest.Databases(t)) > 1 {
			t.Errorf("%s: no rows", sheet.title)
		}
		for _, row := range sheet.rows {
			if len(row) != len(study.columns) {
				t.Errorf("%s: %d cells for %d columns: %q", sheet.title, len(row), len(study.columns), row)
			}
		}
	}
}

// TestTally runs statements on each database, and checks that they're counted
// correctly.
func TestTally(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, server dbtest.DB) {
		var c tally
		db := dbtest.Must(countedDB(server, &c))(t)
		defer db.Close()
		db.SetMaxOpenConns(1)
		must := func(_ sql.Result, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(db.Exec("CREATE TABLE counted (n INT PRIMARY KEY)"))
		must(db.Exec("DELETE FROM counted")) // a throwaway statement, because pgx pings a connection when it's first reused
		before := c.now()
		must(db.Exec("INSERT INTO counted VALUES (1)"))
		tx := dbtest.Must(db.Begin())(t)
		must(tx.Exec("INSERT INTO counted VALUES (2)"))
		dbtest.NoError(t, tx.Commit())
		if _, err := db.Exec("INSERT INTO counted VALUES (2)"); err == nil {
			t.Fatal("a duplicate key was inserted")
		}
		var n int
		if err := db.QueryRow("SELECT count(*) FROM counted").Scan(&n); err != nil || n != 2 {
			t.Fatalf("%d rows, %v; want 2", n, err)
		}
		got := c.now().minus(before)
		// pgx prepares statements on its own, each of which takes a round trip.
		want := usage{statements: 6, failed: 1, commits: 2, prepares: got.prepares, trips: 6 + got.prepares}
		switch server.Dialect {
		case "sqlite":
			want.trips = 0
		case "mysql":
			want.prepares, want.trips = 0, 6
		}
		if got != want {
			t.Errorf("counted %+v, want %+v", got, want)
		}
		if server.Dialect == "mysql" {
			before := c.now()
			must(db.Exec("INSERT INTO counted VALUES (?)", 3))
			if got, want := c.now().minus(before), (usage{statements: 1, prepares: 1, commits: 1, trips: 2}); got != want {
				t.Errorf("with an argument: counted %+v, want %+v", got, want)
			}
		}
	})
}

func TestDurations(t *testing.T) {
	var list durations
	for i := range 99 {
		list = append(list, time.Duration(99-i)*time.Second)
	}
	for _, c := range []struct {
		share float64
		n     int
		want  string
	}{{0.5, 99, "50.0 s"}, {0.99, 100, "99.0 s"}, {1, 100, "> 60.0 s"}, {1, 99, "99.0 s"}, {0.99, 200, "> 60.0 s"}} {
		if got := list.text(c.share, c.n, time.Minute); got != c.want {
			t.Errorf("%g of %d within %s, want %s", c.share, c.n, got, c.want)
		}
	}
	if list.met(100, 98*time.Second) || !list.met(100, 99*time.Second) || list.met(200, time.Hour) {
		t.Error("bars are judged wrongly")
	}
}
