package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// An application writes to the shop while the shop is being migrated.
type application struct {
	name   string
	db     database
	seeded rows // shared with others, so don't write to it
	random *rand.Rand

	switchedOn <-chan struct{} // closed once generated keys may be sent
	stop       <-chan struct{} // closed when the application has to end

	orders   atomic.Int64 // number of orders placed
	refused  atomic.Bool  // whether the database has refused a row without a key
	again    int          // number of orders that had to be placed again
	warnings []string     // findings of the check at the start
	written  rows
}

// runLegacy is the old application, with auto-increment keys. Once the database refuses
// one of its rows, it gets updated to the new application.
func (a *application) runLegacy(ctx context.Context) error {
	db, err := a.db.gorm()
	if err != nil {
		return err
	}
	err = work[int64](ctx, a, db)
	if err == nil || !a.db.refused(err) {
		return err
	}
	a.refused.Store(true)
	return a.runNew(ctx)
}

// runNew is the new application, with generated keys.
func (a *application) runNew(ctx context.Context) (err error) {
	db, err := a.db.gorm()
	if err != nil {
		return err
	}
	pool, err := snowkey.Open(ctx, a.db.store(), snowkey.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close(context.WithoutCancel(ctx))) }()
	if err := db.Use(gormid.New(gormid.Config{Source: pool, Models: models[pk.ID]()})); err != nil {
		return err
	}
	select {
	case <-a.switchedOn:
	case <-a.stop:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	// Until the counters are dropped, we have to expect warnings. With a blocker,
	// however, the application must not start.
	err = gormid.Check(ctx, db, models[pk.ID]()...)
	if mismatch, ok := errors.AsType[*catalog.MismatchError](err); ok && mismatch.Severity() < catalog.Blocker {
		for _, f := range mismatch.Findings {
			a.warnings = append(a.warnings, string(f.Kind))
		}
	} else if err != nil {
		return err
	}
	return work[pk.ID](ctx, a, db)
}

// work places orders until it's stopped, or until an order fails for good.
func work[K key](ctx context.Context, a *application, db *gorm.DB) error {
	const most = 50
	for failed := 0; ; {
		select {
		case <-a.stop:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
		written := make(rows)
		err := db.WithContext(ctx).Transaction(func(tx *gorm.DB) error { return place[K](tx, a, written) })
		switch {
		case err == nil:
			a.written.merge(written)
			a.orders.Add(1)
			failed = 0
		case a.db.disturbed(err) && failed < most:
			a.again++
			failed++
		default:
			return fmt.Errorf("%s: %w", a.name, err)
		}
	}
}

// place places an order, with its children, for an existing customer. Some of the
// orders also add a new customer.
func place[K key](tx *gorm.DB, a *application, written rows) error {
	save := func(model interface{ TableName() string }, id *K) error {
		if err := tx.Create(model).Error; err != nil {
			return err
		}
		written.add(model.TableName(), int64(*id))
		return nil
	}
	old := func(table string) K { return K(a.seeded.any(table, a.random)) }

	buyer := old("customers")
	if a.random.IntN(4) == 0 {
		friend := customer[K]{Name: name(a.random), ReferredBy: &buyer}
		if err := save(&friend, &friend.ID); err != nil {
			return err
		}
		buyer = friend.ID
	}
	home := address[K]{CustomerID: buyer, City: name(a.random)}
	if err := save(&home, &home.ID); err != nil {
		return err
	}
	placed := order[K]{CustomerID: buyer, AddressID: home.ID}
	if err := save(&placed, &placed.ID); err != nil {
		return err
	}
	for range 1 + a.random.IntN(3) {
		of := old("products")
		if a.random.IntN(20) == 0 {
			made := product[K]{Title: name(a.random), Price: 1}
			if err := save(&made, &made.ID); err != nil {
				return err
			}
			of = made.ID
		}
		l := line[K]{OrderID: placed.ID, ProductID: of, Pieces: 1}
		if err := save(&l, &l.ID); err != nil {
			return err
		}
	}
	paid := payment[K]{OrderID: placed.ID, Amount: 1}
	return save(&paid, &paid.ID)
}
