package docs_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/idgen/segment/segmentstore"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// These functions have the code of docs/leases.md.

func withLease(ctx context.Context, db *sql.DB, run func() error) error {
	ids, err := snowkey.Open(ctx, sqlstore.SQLite(db), snowkey.Config{}) // or Postgres, MySQL (also for MariaDB)
	if err != nil {
		return err
	}
	defer ids.Close(ctx) // releases the worker number
	idgen.SetDefault(ids)
	return run()
}

func newSegment(ctx context.Context, db *sql.DB) (*segment.Segment, error) {
	store := segmentstore.SQLite(db)           // or Postgres, MySQL (also for MariaDB)
	if err := store.Migrate(ctx); err != nil { // creates or checks the table snowkey_segment, at every start
		return nil, err
	}
	return segment.New(store, segment.Config{Name: "invoices", MinValue: 1001})
}

func TestLeases(t *testing.T) {
	ctx := t.Context()
	db, err := sql.Open("sqlite", t.TempDir()+"/shop.db")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	defer idgen.SetDefault(nil)
	if err := withLease(ctx, db, func() error {
		a, err := idgen.Default().Next(ctx)
		if err != nil {
			return err
		}
		b, err := idgen.Default().Next(ctx)
		if a >= b {
			t.Errorf("%d is not above %d", b, a)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	findings, err := snowkey.Doctor(ctx, sqlstore.SQLite(db), snowkey.Config{})
	if len(findings) > 0 || err != nil {
		t.Errorf("the doctor finds %v, %v", findings, err)
	}
	numbers, err := newSegment(ctx, db)
	if err != nil {
		t.Fatal(err)
	}
	defer numbers.Close(ctx)
	for want := int64(1001); want <= 1002; want++ {
		if n, err := numbers.Next(ctx); n != want || err != nil {
			t.Errorf("got %d, %v, want %d", n, err, want)
		}
	}
}
