package snowkey_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
)

// A table goes from ids of 53 bits to ids of 63 bits while processes of both layouts run.
// The ids must be distinct and each of 53 bits less than each of 63 bits, because
// docs/layouts.md says so.
func TestFrom53To63Bits(t *testing.T) {
	const limit = 1 << 53
	if last, err := idgen.JSSafe().MaxID(idgen.JSSafe().Lifetime().End.Add(-time.Millisecond)); err != nil || last != limit-1 {
		t.Fatalf("the last id of JSSafe is %d: %v", last, err)
	}
	if first, err := idgen.DefaultLayout().MinID(time.Date(2025, 1, 26, 0, 0, 0, 0, time.UTC)); err != nil || first < limit {
		t.Fatalf("the first id of DefaultLayout on 2025-01-26 is %d: %v", first, err)
	}
	if last, err := idgen.JSSafe().MaxID(time.Date(2029, 11, 2, 0, 0, 0, 0, time.UTC)); err != nil || last >= 1e15 || last < 1e15-1e12 {
		t.Fatalf("the last id of 15 digits is not made soon after %d: %v", last, err)
	}
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		conn := db.Connect(t)
		execAll(t, conn, "CREATE TABLE orders (id BIGINT PRIMARY KEY)")
		store := storeOf(db, conn)
		cfg := snowkey.Config{MaxClockSkew: 100 * time.Millisecond}
		parameter := "?"
		if db.Dialect == "postgres" {
			parameter = "$1"
		}
		insert := func(pool *idgen.Pool) int64 {
			t.Helper()
			id := mustNext(t, pool)
			if _, err := conn.Exec("INSERT INTO orders VALUES ("+parameter+")", id); err != nil {
				t.Fatalf("%d: %v", id, err) // such as an id that the table has
			}
			return id
		}
		var short, long []int64
		narrow := openLayout(t, store, idgen.JSSafe(), cfg)
		for range 20 {
			short = append(short, insert(narrow))
		}
		wide := openLayout(t, store, idgen.DefaultLayout(), cfg)
		for range 20 { // a rolling deployment
			short, long = append(short, insert(narrow)), append(long, insert(wide))
		}
		if err := narrow.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			long = append(long, insert(wide))
		}
		// The deployment may be rolled back, but new ids are then less than those of 63 bits.
		again := openLayout(t, store, idgen.JSSafe(), cfg)
		for range 20 {
			short = append(short, insert(again))
		}
		slices.Sort(short) // those of two leases can be a little out of order
		var all []int64
		rows, err := conn.Query("SELECT id FROM orders ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var id int64
			if err := rows.Scan(&id); err != nil {
				t.Fatal(err)
			}
			all = append(all, id)
		}
		if want := slices.Concat(short, long); rows.Err() != nil || !slices.Equal(all, want) {
			t.Errorf("%v: the table has %d, and the pools made %d", rows.Err(), all, want)
		}
		if last, first := short[len(short)-1], long[0]; last >= limit || first < limit {
			t.Errorf("the last id of 53 bits is %d, and the first of 63 bits %d", last, first)
		}
		// The ids of 53 bits must show their time, like the others.
		if made := idgen.JSSafe().Decode(short[0]).Time; time.Since(made).Abs() > time.Minute {
			t.Errorf("%d is of %v", short[0], made)
		}

		// A namespace that began with 63 bits can't go to 53, nor can one with 53 bits go to
		// a layout whose ids are still below 2^53.
		young, err := idgen.NewLayout(time.Now().AddDate(0, 0, -1), time.Millisecond, idgen.Time(41), idgen.Worker(10), idgen.Sequence(12))
		if err != nil {
			t.Fatal(err)
		}
		for namespace, layouts := range map[string][2]idgen.Layout{"back": {idgen.DefaultLayout(), idgen.JSSafe()}, "young": {idgen.JSSafe(), young}} {
			cfg := cfg
			cfg.Namespace = namespace
			openLayout(t, store, layouts[0], cfg)
			cfg.Layout = layouts[1]
			pool, err := snowkey.Open(t.Context(), store, cfg)
			if _, ok := errors.AsType[*lease.LayoutError](err); !ok {
				t.Errorf("%s: %v, %v", namespace, pool, err)
			}
		}
	})
}
