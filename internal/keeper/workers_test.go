package keeper

import (
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
	"github.com/snowkey-go/snowkey/lease"
)

// SQL issues ids above the bound in its row, so whoever got its worker number would repeat
// them. A backfill needs its number again if the import is repeated.
func TestReservedWorkersAreNotFreed(t *testing.T) {
	store := new(kvtest.Memory)
	terms := lease.Terms{Namespace: "orders", Layout: "41/10/12", Unit: 1000, PerTick: 4096, Workers: 1024}
	errtest.NoError(t, store.Migrate(t.Context()))
	errtest.NoError(t, store.AddRows(t.Context(), terms, 5, 7))
	for worker, token := range map[int64]string{5: "sql:snowkey_next", 6: "another", 7: "backfill:orders"} {
		errtest.NoError(t, store.Edit(t.Context(), terms, lease.Row{Worker: worker, Token: token, Revision: 1, Expires: 1 << 60, Label: "SQL"}))
		_, err := FreeWorker(t.Context(), store, terms.Namespace, terms.Layout, worker)
		if refused := err != nil && strings.Contains(err.Error(), "reserved for ids from SQL"); refused != (worker != 6) || err != nil && worker == 6 {
			t.Errorf("worker %d: %v", worker, err)
		}
		rows, err := store.Rows(t.Context(), terms, worker, worker)
		if err != nil || len(rows) != 1 || (rows[0].Token == "") != (worker == 6) {
			t.Errorf("the row is %+v, %v", rows, err)
		}
	}
}

func TestReached(t *testing.T) {
	terms := lease.Terms{Epoch: 1_000_000, Unit: 1000, PerTick: 4096, Ahead: 12_000_000}
	for bound := int64(13_000*4096 - 9000); bound < 13_000*4096+9000; bound += 999 {
		at := reached(terms, bound)
		if terms.At(at).Cap < bound || terms.At(at-1).Cap >= bound {
			t.Errorf("the cap is %d at %d, and %d before; want %d to be reached", terms.At(at).Cap, at, terms.At(at-1).Cap, bound)
		}
	}
}
