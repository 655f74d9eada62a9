package sqlstore_test

import (
	"database/sql"
	"net/url"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
)

// TestTemplate puts a database back from a copy that CREATE DATABASE … TEMPLATE made. The
// copy has the tables with their OIDs and files, and the server is the same, so only the
// OID of the database differs.
func TestTemplate(t *testing.T) {
	t.Parallel()
	server := dbtest.Postgres(t)
	admin := server.Connect(t)
	var name string
	if err := admin.QueryRow("SELECT current_database() || '_shop'").Scan(&name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { exec(t, admin, "DROP DATABASE IF EXISTS "+name, "DROP DATABASE IF EXISTS "+name+"_copy") })
	exec(t, admin, "CREATE DATABASE "+name)
	shop := server
	dsn, err := url.Parse(server.DSN)
	if err != nil {
		t.Fatal("the DSN is no URL")
	}
	dsn.Path = "/" + name
	shop.DSN = dsn.String()
	with := func(f func(*operated)) {
		t.Helper()
		conn, err := sql.Open(shop.Driver, shop.DSN) // closed here, since a database in use can't be copied
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		f(open(t, shop, conn, "lease"))
	}
	var held lease.Row
	with(func(s *operated) { held = claimed(t, s) })
	exec(t, admin, "CREATE DATABASE "+name+"_copy TEMPLATE "+name)
	with(func(s *operated) {
		if _, ok, err := s.Renew(t.Context(), lease.Renewal{Terms: terms, Held: held, Token: "lost", Wanted: 1 << 62}); !ok || err != nil {
			t.Fatal(ok, err)
		}
	})
	exec(t, admin, "DROP DATABASE "+name, "ALTER DATABASE "+name+"_copy RENAME TO "+name)
	with(func(s *operated) {
		p := probe(t, s)
		if p.Fingerprint == p.Current || strings.Count(p.Current, "/") != strings.Count(p.Fingerprint, "/") {
			t.Errorf("the copy has the fingerprint %q, and the original had %q", p.Current, p.Fingerprint)
		}
	})
}
