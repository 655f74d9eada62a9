package keeper

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/snowkey-go/snowkey/lease"
)

// migrate creates the tables or files of the store.
func (k *keeper) migrate(ctx context.Context) error {
	if !k.goesFirst(false) {
		return errAbsent
	}
	if err := k.store.Migrate(ctx); err != nil {
		return &lease.StoreError{Op: "migrate", Err: err}
	}
	return nil
}

// prepare takes the next step towards a row that can be claimed: it creates the namespace,
// raises the fence, or adds rows. It returns a TakenError if there is nothing to add.
func (k *keeper) prepare(ctx context.Context, p lease.Probe) (err error) {
	absent := !p.HasNamespace || !p.HasFree && p.LastWorker < k.cfg.MaxWorker
	created := p.HasNamespace && p.Fence >= k.terms.At(p.Now-recent).NewFence
	switch {
	case absent && !p.OneClock && !k.goesFirst(created):
		return errAbsent
	case !p.HasNamespace:
		err, k.looks = k.createNamespace(ctx, p), 0
	case p.Fingerprint != p.Current:
		k.log().Warn("lease: the database was replaced or restored; ids continue above everything that may have been lost", "namespace", k.cfg.Namespace)
		err = k.store.Fence(ctx, k.terms, p.Fingerprint)
	case p.LastWorker < k.cfg.MaxWorker:
		err, k.looks = k.addRows(ctx, p), 0
	case k.taken != nil && time.Since(k.takenAt) < takenFor*k.cfg.ttl():
		taken := *k.taken // copied, because the issuer may still be reading the old error
		taken.NextFree, k.taken = k.untilFree(p.Row), &taken
		return k.taken
	default:
		err = k.addMissing(ctx)
	}
	if err == nil || isFinal(err) || isTaken(err) {
		return err
	}
	return &lease.StoreError{Op: "prepare a row", Err: err}
}

// goesFirst reports whether this process should create missing tables, namespaces or
// rows now, rather than pause and probe again. If a thousand processes start together,
// we want only a few of them to do it. After the first probe that found something
// missing, goesFirst returns true in one process of 64. After the second it's one of 8,
// and after the third it's all of them, which means that a process that starts alone
// has to wait for 0.15 s. If the namespace was just created, its creator is still
// adding rows, so everyone else probes one more time.
func (k *keeper) goesFirst(created bool) bool {
	others := 6 - 3*k.looks
	if created {
		others += 3
	}
	k.looks++
	return others <= 0 || rand.IntN(1<<others) == 0
}

// recent is the age, in microseconds, up to which we treat a namespace as just created.
const recent = 5_000_000

// maxCoarseRows limits the rows that we add when we create a namespace of a coarse
// layout. We add so many because a row that is added later can't be used before the
// next tick.
const maxCoarseRows = 4096

// createNamespace adds the layout to the namespace. It returns a LayoutError if, from
// now on, the layout can make an id that another layout of the namespace can make too.
// For a coarse layout it must add the rows first, because rows may start in the current
// tick only as long as the namespace does not exist.
func (k *keeper) createNamespace(ctx context.Context, p lease.Probe) error {
	layouts, position, err := k.store.Layouts(ctx, k.cfg.Namespace)
	if err != nil {
		return err
	}
	if err := k.checkLayouts(layouts, time.UnixMicro(p.Now)); err != nil {
		return err
	}
	if k.terms.Coarse() {
		if err := k.addCoarseRows(ctx); err != nil {
			return err
		}
	}
	created, err := k.store.CreateNamespace(ctx, k.terms, position)
	if created && p.LastWorker < k.cfg.MinWorker {
		return k.addRows(ctx, p)
	}
	return err
}

// checkLayouts returns a LayoutError if one of the other layouts of the namespace can make an
// id from a time on that this layout can make too.
func (k *keeper) checkLayouts(layouts []string, since time.Time) error {
	for _, stored := range layouts {
		if stored == k.terms.Layout {
			continue
		}
		if err := k.cfg.Compatible(stored, since); err != nil {
			return &lease.LayoutError{Namespace: k.cfg.Namespace, Stored: stored, Mine: k.terms.Layout, Err: err}
		}
	}
	return nil
}

// addCoarseRows adds the rows of a namespace that does not exist yet. It returns an error
// unless all of them exist: the store leaves out rows that another process is adding, and that
// process may fail.
func (k *keeper) addCoarseRows(ctx context.Context) error {
	last := min(k.terms.Workers, maxCoarseRows) - 1
	for range 2 {
		rows, err := k.store.Rows(ctx, k.terms, 0, last)
		if err != nil || int64(len(rows)) > last {
			return err
		}
		if err := k.store.AddRows(ctx, k.terms, 0, last); err != nil {
			return err
		}
	}
	return errRace
}

// addRows adds rows above the existing ones. It adds up to 1,024 at once, because a
// thousand processes may start at the same time.
func (k *keeper) addRows(ctx context.Context, p lease.Probe) error {
	const n = 1024
	return k.store.AddRows(ctx, k.terms, p.LastWorker+1, min(p.LastWorker+n, k.cfg.MaxWorker))
}

// addMissing adds one of the missing rows, chosen at random. If there is none, all
// worker numbers are in use, and it returns a TakenError.
func (k *keeper) addMissing(ctx context.Context) error {
	rows, err := k.store.Rows(ctx, k.terms, k.cfg.MinWorker, k.cfg.MaxWorker)
	if err != nil {
		return err
	}
	there := make(map[int64]bool, len(rows))
	for _, r := range rows {
		there[r.Worker] = true
	}
	n := k.cfg.MaxWorker - k.cfg.MinWorker + 1
	if int64(len(there)) == n {
		k.taken, k.takenAt = k.allTaken(rows), time.Now()
		return k.taken
	}
	worker := k.cfg.MinWorker + rand.Int64N(n)
	for there[worker] {
		if worker++; worker > k.cfg.MaxWorker {
			worker = k.cfg.MinWorker
		}
	}
	return k.store.AddRows(ctx, k.terms, worker, worker)
}
