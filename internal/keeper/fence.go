package keeper

import (
	"context"
	"fmt"

	"github.com/snowkey-go/snowkey/lease"
)

// Fence implements snowkey.Fence.
func Fence(ctx context.Context, store lease.Store, cfg Config) error {
	if _, err := look(ctx, store, cfg); err != nil {
		return err
	}
	if err := store.Fence(ctx, cfg.Terms, ""); err != nil {
		return &lease.StoreError{Op: "fence", Err: err}
	}
	return nil
}

// look probes a namespace. If it does not exist, look returns lease.ErrNoNamespace.
func look(ctx context.Context, store lease.Store, cfg Config) (lease.Probe, error) {
	p, err := store.Probe(ctx, lease.Query{Terms: cfg.Terms, Min: cfg.MinWorker, Max: cfg.MaxWorker, PreferWorker: -1})
	switch {
	case err != nil:
		err = &lease.StoreError{Op: "probe", Err: err}
	case !p.HasNamespace:
		err = fmt.Errorf("lease: namespace %q, layout %q: %w", cfg.Namespace, cfg.Layout, lease.ErrNoNamespace)
	}
	return p, err
}
