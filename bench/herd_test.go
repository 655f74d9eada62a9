package main

import (
	"bytes"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestHerd runs every study of the herd briefly, with only a few processes.
func TestHerd(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	var out bytes.Buffer
	table, err := measureHerd(&out, t.TempDir(), "", herd{
		starts: []int{8}, live: 2, limit: 30 * time.Second, stay: 100 * time.Millisecond,
		opens: 3, rest: time.Second,
		outage: time.Second, running: 8, warm: 1500 * time.Millisecond,
		workers: 16, waiters: 4, watch: 500 * time.Millisecond, freed: 2,
		short:    []shortLived{{10, true, time.Second}, {10, false, time.Second}},
		patience: 5 * time.Second,
		cfg:      snowkey.Config{Window: time.Second, MaxClockSkew: 100 * time.Millisecond},
	})
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "not measured") {
		t.Error("a study was not measured")
	}
	for i, study := range herdStudies() {
		sheet := table.sheets[i]
		if len(sheet.rows) == 0 && len(dbtest.Databases(t)) > 1 {
			t.Errorf("%s: no rows", sheet.title)
		}
		for _, row := range sheet.rows {
			if len(row) != len(study.columns) {
				t.Errorf("%s: %d cells for %d columns: %q", sheet.title, len(row), len(study.columns), row)
			}
		}
	}
}
