package lease

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A Finding is something that looks wrong in a store.
type Finding struct {
	Kind   string // for programs; the kinds are listed at [Doctor], and by stores that are an [Examiner]
	Text   string // what is wrong, and with what
	Remedy string // what to do
}

func (f Finding) String() string { return fmt.Sprintf("%s: %s; %s", f.Kind, f.Text, f.Remedy) }

// An Examiner is a [Store] that can look for settings which endanger leases and
// which no probe shows.
type Examiner interface {
	Examine(ctx context.Context) ([]Finding, error)
}

// Doctor looks for rows of a namespace, and for settings of its store, that look
// wrong. It changes nothing and needs no lease. None of the findings means that an
// id was repeated, but where a bound was lowered by hand, which nobody can see:
// they say why ids do not flow, or are ahead of their time, or what a crash would cost.
//
//	clock          the host's clock and the store's are more than MaxClockSkew apart
//	volatile       the store may forget a commit that it acknowledged
//	history        the database is not the one it was when the namespace was last fenced
//	fence-ahead    the fence is further ahead than the store ever raises it
//	bound-ahead    the bound of a row is
//	expires-ahead  a lease lasts longer than TTL
//	no-such-worker a row is outside the layout
//	crowded        at least nine tenths of the worker numbers are leased
//
// and what the store finds itself, if it is an [Examiner]. The error is a
// [*NamespaceError] if the namespace is not there, a [*ConfigError] or a
// [*StoreError].
func Doctor(ctx context.Context, store Store, cfg Config) ([]Finding, error) {
	cfg = cfg.withDefaults()
	clocks := clocks{cfg: cfg}
	sent := clocks.read()
	terms, p, err := look(ctx, store, cfg)
	if err != nil {
		return nil, err
	}
	host, now := cfg.Clock(), time.UnixMicro(p.Now)
	rows, err := store.Rows(ctx, terms, 0, maxCounter)
	if err != nil {
		return nil, &StoreError{"read", err}
	}
	var found []Finding
	if e, ok := store.(Examiner); ok {
		if found, err = e.Examine(ctx); err != nil {
			return nil, &StoreError{"examine", err}
		}
	}
	add := func(kind, remedy, text string, values ...any) {
		found = append(found, Finding{Kind: kind, Text: fmt.Sprintf(text, values...), Remedy: remedy})
	}
	at := func(bound int64) string {
		return time.UnixMicro(terms.Epoch + bound/terms.PerTick*terms.Unit).UTC().Format(time.RFC3339)
	}

	if !clocks.near(now, sent.wall, host) {
		add("clock", "set one of them right", "the store's clock is %v ahead of this host's, more than MaxClockSkew %v", now.Sub(host).Round(time.Millisecond), cfg.MaxClockSkew)
	}
	if p.Volatile {
		add("volatile", "have it flush every commit, or accept that each lease begins with a hold-off of MaxClockSkew",
			"the store may forget a commit that it acknowledged, or cannot say whether it may")
	}
	readOnly := slices.ContainsFunc(found, func(f Finding) bool { return f.Kind == "read-only" })
	if p.Fingerprint != p.Current && !readOnly { // a standby has another fingerprint than its primary
		add("history", "nothing: the next claim has ids go on behind all that may have been lost",
			"the database is %q, and was %q when the namespace was created or fenced", p.Current, p.Fingerprint)
	}
	const edited = "wait until then, or let nobody edit it: if it is certain that it was raised by hand, set it back while no process runs and call Fence"
	beyond := terms.Beyond(p.Now)
	if p.Fence > beyond {
		add("fence-ahead", edited, "the fence is at %s, and the store's clock at %s", at(p.Fence), now.UTC().Format(time.RFC3339))
	}
	leased, inRange := int64(0), cfg.MaxWorker-cfg.MinWorker+1
	for _, r := range rows {
		if r.Worker >= terms.Workers {
			add("no-such-worker", "delete the row", "the layout has %d workers, and a row is of worker %d", terms.Workers, r.Worker)
		}
		if r.Bound > max(beyond, p.Fence) {
			add("bound-ahead", edited, "the bound of worker %d (%s) is at %s, and the store's clock at %s", r.Worker, r.Label, at(r.Bound), time.UnixMicro(r.Now).UTC().Format(time.RFC3339))
		}
		if left := time.Duration(r.Expires-r.Now) * time.Microsecond; r.Token != "" && left > cfg.TTL+cfg.MaxClockSkew {
			add("expires-ahead", "give all processes of the namespace one TTL; if none runs that has the worker, set expires_at to 0",
				"the lease of worker %d (%s) lasts %v, more than TTL %v", r.Worker, r.Label, left.Round(time.Second), cfg.TTL)
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
