//go:build nightly

package snowkey_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/url"
	"os"
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

// Open fails immediately if the password is wrong. By default, a private server accepts any.
func TestNightlyWrongPassword(t *testing.T) {
	db := dbtest.Durable(t, "postgres")
	conn := db.Connect(t)
	execAll(t, conn, "CREATE ROLE nobody LOGIN PASSWORD 'another'")
	hba := dbtest.Rows(t, conn, "SHOW hba_file")[0]
	text, err := os.ReadFile(hba)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hba, append([]byte("host all nobody all scram-sha-256\nlocal all nobody scram-sha-256\n"), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	execAll(t, conn, "SELECT pg_reload_conf()")
	dsn, err := url.Parse(db.DSN)
	if err != nil {
		t.Fatal(err)
	}
	dsn.User = url.UserPassword("nobody", password)
	err = dbtest.Within(time.Minute, func() error { // until the server has read the file
		other, err := sql.Open(db.Driver, dsn.String())
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		if other.Ping() == nil {
			return errors.New("the server accepts any password")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	failsAtOnce(t, db, dsn.String(), "snowkey_lease", "password authentication failed", "correct the user")
}
