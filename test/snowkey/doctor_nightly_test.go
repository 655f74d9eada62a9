//go:build nightly

package snowkey_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
)

// Doctor must work on a standby, and report that it's read-only.
func TestNightlyDoctorOnAStandby(t *testing.T) {
	db := dbtest.Durable(t, "postgres")
	cfg := snowkey.Config{Layout: idgen.DefaultLayout(), Logger: slog.New(slog.DiscardHandler)}
	openLayout(t, storeOf(db, db.Connect(t)), cfg.Layout, cfg)
	standby := dbtest.StandbyOf(t, db)
	if err := standby.Lag(); err != nil {
		t.Fatal(err)
	}
	store := storeOf(standby.DB, standby.Connect(t))
	found, err := snowkey.Doctor(t.Context(), store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, f := range found {
		kinds[f.Kind] = true
	}
	if !kinds["read-only"] || kinds["history"] {
		t.Errorf("found %v", found)
	}
	// On a standby, Open fails immediately.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err = snowkey.Open(ctx, store, cfg)
	if _, ok := errors.AsType[*lease.PermanentError](err); !ok || !strings.Contains(err.Error(), "primary") {
		t.Errorf("Open: %v", err)
	}
}
