package lease

import "context"

// Fence has all leases that are claimed from now on begin behind everything that
// can have been granted before, by this database or one whose place it took.
// Keepers do so by themselves when they see that the database is another. Call
// Fence where nobody can see it: after a snapshot of a whole disk or machine was
// put back, and before processes start again.
//
// The error is a [*NamespaceError] if there is nothing to fence, a [*ConfigError]
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

// look probes a namespace that has to be there, and returns the terms on which
// its store leases.
func look(ctx context.Context, store Store, cfg Config) (Terms, Probe, error) {
	if err := cfg.validate(); err != nil {
		return Terms{}, Probe{}, err
	}
	terms := cfg.terms()
	p, err := store.Probe(ctx, Query{Terms: terms, Min: cfg.MinWorker, Max: cfg.MaxWorker, Own: -1})
	if err != nil {
		return Terms{}, Probe{}, &StoreError{"probe", err}
	}
	if !p.Exists {
		return Terms{}, Probe{}, &NamespaceError{Namespace: terms.Namespace, Layout: terms.Layout}
	}
	if p.OneClock {
		terms.Skew = 0
	}
	return terms, p, nil
}
