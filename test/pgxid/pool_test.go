package pgxid_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// A lease keeps one connection of a pgxpool, as docs/sql.md says, and gives it back when it
// is closed. Otherwise pgxpool's Close would wait forever.
func TestLeaseKeepsConnectionOfPool(t *testing.T) {
	pool := dbtest.Must(pgxpool.New(t.Context(), dbtest.Postgres(t).DSN))(t)
	ids := dbtest.Must(snowkey.Open(t.Context(), sqlstore.Postgres(stdlib.OpenDBFromPool(pool)), snowkey.Config{}))(t)
	if n := pool.Stat().AcquiredConns(); n != 1 {
		t.Errorf("%d connections are in use, want 1", n)
	}
	dbtest.NoError(t, ids.Close(t.Context()))
	pool.Close()
}
