package keeper

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/lease"
)

// A Worker describes a worker number of a namespace and its lease, for people.
type Worker struct {
	Namespace string     `json:"namespace"`
	Layout    string     `json:"layout"`
	Number    int64      `json:"worker"`
	State     string     `json:"state"`             // free, leased or expired
	Label     string     `json:"label,omitempty"`   // of the process that holds it, or held it last
	Since     *time.Time `json:"since,omitempty"`   // when it was claimed, by the clock of the holder's host; nil if it is free
	Expires   *time.Time `json:"expires,omitempty"` // unless it is renewed, by the store's clock; nil if it is free
}

// Workers returns the worker numbers of a namespace that have a row, ordered by layout
// and number. It leaves out those that no process holds, unless free is set.
func Workers(ctx context.Context, store lease.Store, namespace string, free bool) ([]Worker, error) {
	layouts, _, err := store.Layouts(ctx, namespace)
	if err != nil {
		return nil, &lease.StoreError{Op: "read", Err: err}
	}
	var all []Worker
	for _, layout := range layouts {
		rows, err := store.Rows(ctx, lease.Terms{Namespace: namespace, Layout: layout}, 0, maxCounter)
		if err != nil {
			return nil, &lease.StoreError{Op: "read", Err: err}
		}
		for _, r := range rows {
			if w := worker(namespace, layout, r); free || w.State != "free" {
				all = append(all, w)
			}
		}
	}
	return all, nil
}

// reserved reports whether a row is reserved, for ids that are made by SQL or by a backfill.
// Package sqlgen and ReserveBackfill write these rows.
func reserved(r lease.Row) bool {
	return strings.HasPrefix(r.Token, "sql:") || strings.HasPrefix(r.Token, backfillPrefix)
}

func worker(namespace, layout string, r lease.Row) Worker {
	w := Worker{Namespace: namespace, Layout: layout, Number: r.Worker, State: "free", Label: r.Label}
	if r.Token == "" {
		return w
	}
	w.State = "leased"
	if r.Expires < r.Now {
		w.State = "expired"
	}
	expires := time.UnixMicro(r.Expires).UTC()
	w.Expires = &expires
	if since := claimTime(r.Token); !since.IsZero() {
		w.Since = &since
	}
	return w
}

// FreeWorker ends the lease of a worker number, so that the next process doesn't have
// to wait until it expires. It returns the state of the worker number before the call.
// If the process that held it is still running, it loses its lease at the next renewal
// and claims another number. This can't make an id repeat, because the bound stays
// where it is and the next holder starts there.
func FreeWorker(ctx context.Context, store lease.Store, namespace, layout string, number int64) (Worker, error) {
	terms := lease.Terms{Namespace: namespace, Layout: layout}
	rows, err := store.Rows(ctx, terms, number, number)
	if err != nil {
		return Worker{}, &lease.StoreError{Op: "read", Err: err}
	}
	if len(rows) == 0 {
		return Worker{}, fmt.Errorf("namespace %q has no worker %d of the layout %q", namespace, number, layout)
	}
	w := worker(namespace, layout, rows[0])
	if rows[0].Token == "" {
		return w, fmt.Errorf("worker %d is free already", number)
	}
	if reserved(rows[0]) {
		return w, fmt.Errorf("worker %d is reserved for ids from %s, which no process may make; it can't be freed", number, w.Label)
	}
	switch ok, err := store.Release(ctx, terms, rows[0], rows[0].Bound); {
	case err != nil:
		return w, &lease.StoreError{Op: "release", Err: err}
	case !ok:
		return w, fmt.Errorf("worker %d was renewed at this moment by %q, which is running; stop that process, or try again", number, w.Label)
	}
	return w, nil
}
