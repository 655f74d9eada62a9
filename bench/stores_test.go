package main

import (
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestStores measures each store briefly.
func TestStores(t *testing.T) {
	table := dbtest.Must(measureStores(t.TempDir(), storeKinds, storePlan{
		opens: 2, new: 1, processes: 1, rest: 1500 * time.Millisecond,
		cfg: snowkey.Config{Window: time.Second, MaxClockSkew: 100 * time.Millisecond},
	}))(t)
	var out strings.Builder
	table.markdown(&out)
	t.Log(out.String())
	for _, row := range table.rows {
		if len(row) != len(table.columns) {
			t.Errorf("%d cells for %d columns: %q", len(row), len(table.columns), row)
		}
	}
	if strings.Contains(table.note, "Not measured") {
		t.Error(table.note)
	}
	for _, row := range table.rows {
		if row[5] == "0.0" || row[6] == "0.0" {
			t.Errorf("no requests were counted: %q", row)
		}
	}
}
