package keeper

import (
	"context"
	"fmt"
	"slices"
	"time"

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

// Doctor implements snowkey.Doctor.
func Doctor(ctx context.Context, store lease.Store, cfg Config) ([]lease.Finding, error) {
	clocks := clocks{cfg: cfg}
	sent := clocks.read()
	terms := cfg.Terms
	p, err := look(ctx, store, cfg)
	if err != nil {
		return nil, err
	}
	host, now := cfg.Clock(), time.UnixMicro(p.Now)
	rows, err := store.Rows(ctx, terms, 0, maxCounter)
	if err != nil {
		return nil, &lease.StoreError{Op: "read", Err: err}
	}
	found, err := store.Examine(ctx)
	if err != nil {
		return nil, &lease.StoreError{Op: "examine", Err: err}
	}
	add := func(kind, remedy, text string, values ...any) {
		found = append(found, lease.Finding{Kind: kind, Text: fmt.Sprintf(text, values...), Remedy: remedy})
	}
	at := func(bound int64) string {
		return time.UnixMicro(terms.Epoch + bound/terms.PerTick*terms.Unit).UTC().Format(time.RFC3339)
	}

	if !clocks.near(now, sent.wall, host) {
		add("clock", "correct one of the two clocks", "the store's clock is %v ahead of this host's, more than MaxClockSkew %v", now.Sub(host).Round(time.Millisecond), cfg.skew())
	}
	if p.Volatile {
		add("volatile", "configure it to flush each commit, or accept that each lease starts with a hold-off of MaxClockSkew",
			"the store may lose a commit that it acknowledged, or does not know whether it may")
	}
	readOnly := slices.ContainsFunc(found, func(f lease.Finding) bool { return f.Kind == "read-only" })
	if p.Fingerprint != p.Current && !readOnly { // on a standby the fingerprint always differs from that of the primary
		add("history", "nothing: the next claim makes ids continue above everything that may have been lost",
			"the database is %q, and was %q when the namespace was created or fenced", p.Current, p.Fingerprint)
	}
	const edited = "wait until then; if it was certainly raised by hand, stop all processes, set it back and call Fence"
	highest := terms.At(p.Now).RaisedFence
	if p.Fence > highest {
		add("fence-ahead", edited, "the fence is at %s, and the store's clock at %s", at(p.Fence), now.UTC().Format(time.RFC3339))
	}
	leased, inRange := int64(0), cfg.MaxWorker-cfg.MinWorker+1
	for _, r := range rows {
		if r.Worker >= terms.Workers {
			add("no-such-worker", "delete the row", "the layout has %d workers, and the namespace has a row of worker %d", terms.Workers, r.Worker)
		}
		if r.Bound > max(highest, p.Fence) {
			add("bound-ahead", edited, "the bound of worker %d (%s) is at %s, and the store's clock at %s", r.Worker, r.Label, at(r.Bound), time.UnixMicro(r.Now).UTC().Format(time.RFC3339))
		}
		if left := micros(r.Expires - r.Now); r.Token != "" && !reserved(r) && left > cfg.ttl()+cfg.skew() {
			add("expires-ahead", "configure the same TTL in all processes of the namespace; if no running process has this worker, set expires_at to 0",
				"the lease of worker %d (%s) lasts %v, more than TTL %v", r.Worker, r.Label, left.Round(time.Second), cfg.ttl())
		}
		if !terms.Free(r) && cfg.MinWorker <= r.Worker && r.Worker <= cfg.MaxWorker {
			leased++
		}
	}
	if 10*leased >= 9*inRange {
		add("crowded", "stop idle processes, widen the range or the layout's worker field", "%d of %d workers (%d to %d) are leased", leased, inRange, cfg.MinWorker, cfg.MaxWorker)
	}
	return found, nil
}
