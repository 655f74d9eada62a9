package hostile

import (
	"slices"
	"testing"

	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/idgen/segment/segmentstore"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// The application has left a transaction open on the only connection. What is written there
// isn't committed, so the store must write on another one. Leases don't notice it, because
// their connection is never the application's.
func TestOnlyConnectionIsInATransaction(t *testing.T) {
	t.Parallel()
	db := dbtest.Postgres(t)
	conn := session{noReset: true}.connect(t, db)
	conn.SetMaxOpenConns(1)
	conn.SetConnMaxLifetime(0)
	store := segmentstore.Postgres(conn)
	dbtest.NoError(t, store.Migrate(t.Context()))
	dbtest.Must(conn.Exec("BEGIN"))(t)
	start, err := store.Fetch(t.Context(), segment.Fetch{Name: "numbers", Min: 1, Span: 10, Limit: 1000})
	if rows := dbtest.Rows(t, db.Connect(t), "SELECT start, bound FROM snowkey_segment"); start != 1 || err != nil || !slices.Equal(rows, []string{"1 11"}) {
		t.Errorf("granted from %d on, %v, and other connections see the rows %q", start, err, rows)
	}
}
