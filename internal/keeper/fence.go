package keeper

import (
	"context"
	"fmt"

	"github.com/snowkey-go/snowkey/lease"
)

// Fence implements snowkey.Fence.
func Fence(ctx context.Context, store lease.Store, cfg Config) error {
	terms, _, err := look(ctx, store, cfg)
	if err != nil {
		return err
	}
	if err := store.Fence(ctx, terms, ""); err != nil {
		return &lease.StoreError{Op: "fence", Err: err}
	}
	return nil
}

// look probes a namespace. It returns the probe, and the terms that must be used for
// further calls to the store. If the namespace does not exist, it returns
// lease.ErrNoNamespace.
func look(ctx context.Context, store lease.Store, cfg Config) (lease.Terms, lease.Probe, error) {
	terms := cfg.Terms
	p, err := store.Probe(ctx, lease.Query{Terms: terms, Min: cfg.MinWorker, Max: cfg.MaxWorker, PreferWorker: -1})
	if err != nil {
		return lease.Terms{}, lease.Probe{}, &lease.StoreError{Op: "probe", Err: err}
	}
	if !p.HasNamespace {
		return lease.Terms{}, lease.Probe{}, fmt.Errorf("lease: namespace %q, layout %q: %w", terms.Namespace, terms.Layout, lease.ErrNoNamespace)
	}
	return terms, p, nil
}
