package lease

import (
	"context"
	"fmt"
)

// Fence makes all leases that are claimed from now on start above everything that
// can have been granted before, by this database or by one that it replaced.
// Keepers do so themselves if the fingerprint or an older row shows a restore. Some
// restores are not detected: a snapshot of a disk or machine, or an older dump that
// did not recreate the tables. After such a restore, call Fence before processes start
// again. docs/leases.md lists these restores.
//
// The error is a [ErrNoNamespace] if there is nothing to fence, a [*ConfigError]
// or a [*StoreError].
func Fence(ctx context.Context, store Store, cfg Config) error {
	cfg = cfg.withDefaults()
	terms, _, err := look(ctx, store, cfg)
	if err != nil {
		return err
	}
	if err := store.Fence(ctx, terms, ""); err != nil {
		return &StoreError{"fence", err}
	}
	return nil
}

// look probes a namespace that must exist, and returns the terms for its store.
func look(ctx context.Context, store Store, cfg Config) (Terms, Probe, error) {
	if err := cfg.validate(); err != nil {
		return Terms{}, Probe{}, err
	}
	terms := cfg.terms()
	p, err := store.Probe(ctx, Query{Terms: terms, Min: cfg.MinWorker, Max: cfg.MaxWorker, PreferWorker: -1})
	if err != nil {
		return Terms{}, Probe{}, &StoreError{"probe", err}
	}
	if !p.HasNamespace {
		return Terms{}, Probe{}, fmt.Errorf("lease: namespace %q, layout %q: %w", terms.Namespace, terms.Layout, ErrNoNamespace)
	}
	if p.OneClock {
		terms.Skew = 0
	}
	return terms, p, nil
}
