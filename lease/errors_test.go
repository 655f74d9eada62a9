package lease_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/lease"
)

// Every message should contain the value that's wrong and tell the reader what to do.
func TestErrors(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	cause := errors.New("connection refused")
	for _, tt := range []struct {
		err  error
		want []string
	}{
		{&lease.LostError{Namespace: "orders", Worker: 7, Since: at, Reason: "its row is gone"}, []string{"worker 7", `"orders"`, "2026-01-02T03:04:05Z", "its row is gone", "leasing another"}},
		{&lease.StoreError{Op: "renew", Err: cause}, []string{"renew", "connection refused"}},
		{
			&lease.TakenError{Namespace: "orders", Min: 0, Max: 1023, Holders: []string{"a", "b", "c", "d", "e", "f", "g"}, NextFree: 12 * time.Second},
			[]string{"all 1024 worker numbers", `"orders"`, "a, b, c, d, e and 2 more", "12s", "widen"},
		},
		{&lease.LayoutError{Namespace: "orders", Stored: "one", Mine: "two", Err: cause}, []string{`"one"`, `"two"`, "connection refused", "the same layout"}},
		{&lease.HoldOffError{Namespace: "orders", For: time.Second}, []string{`"orders"`, "wait 1s", "MaxClockSkew"}},
		{&lease.HoldOffError{Namespace: "orders", Unconfirmed: true}, []string{`"orders"`, "answer to the claim was lost", "renewal"}},
		{&lease.ClockSkewError{Host: at, Store: at.Add(time.Minute), Max: time.Second}, []string{"03:04:05Z", "03:05:05Z", "1s", "correct one of them"}},
	} {
		t.Run(fmt.Sprintf("%T", tt.err), func(t *testing.T) {
			for _, want := range tt.want {
				if !strings.Contains(tt.err.Error(), want) {
					t.Errorf("%q does not say %q", tt.err, want)
				}
			}
		})
	}
	if !errors.Is(&lease.StoreError{Op: "renew", Err: cause}, cause) {
		t.Error("a StoreError hides its cause")
	}
}
