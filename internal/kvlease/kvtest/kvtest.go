// Package kvtest helps to test the stores that package kvlease implements.
package kvtest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/snowkey-go/snowkey/internal/kvlease"
	"github.com/snowkey-go/snowkey/lease"
)

// An Operator implements the interface of this name in package kvtest. It changes texts
// as a person could.
type Operator struct {
	lease.Store

	// Change replaces the text of a worker, or that of the namespace for
	// kvlease.OfNamespace. If there is none, it does nothing.
	Change func(ctx context.Context, terms lease.Terms, worker int64, change func(text string) string) error
}

// Edit overwrites all columns of an existing row.
func (o Operator) Edit(ctx context.Context, terms lease.Terms, r lease.Row) error {
	return o.edit(ctx, terms, r.Worker, func(row map[string]any) {
		row["token"], row["revision"], row["bound"], row["expires_at"], row["label"] = r.Token, r.Revision, r.Bound, r.Expires, r.Label
	})
}

// DeleteNamespace deletes the layout of a namespace, but not its rows.
func (o Operator) DeleteNamespace(ctx context.Context, terms lease.Terms) error {
	return o.edit(ctx, terms, kvlease.OfNamespace, func(namespace map[string]any) {
		delete(namespace["layouts"].(map[string]any), terms.Layout)
	})
}

// SetFingerprint overwrites the fingerprint of a layout.
func (o Operator) SetFingerprint(ctx context.Context, terms lease.Terms, fingerprint string) error {
	return o.edit(ctx, terms, kvlease.OfNamespace, func(namespace map[string]any) {
		namespace["layouts"].(map[string]any)[terms.Layout].(map[string]any)["fingerprint"] = fingerprint
	})
}

// edit changes fields of a text. Numbers keep their digits, since float64 can't hold them.
func (o Operator) edit(ctx context.Context, terms lease.Terms, worker int64, change func(map[string]any)) (err error) {
	changed := o.Change(ctx, terms, worker, func(text string) string {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		var fields map[string]any
		if err = decoder.Decode(&fields); err != nil {
			return text
		}
		change(fields)
		edited, _ := json.Marshal(fields)
		return string(edited)
	})
	return errors.Join(err, changed)
}
