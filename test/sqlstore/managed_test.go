package sqlstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// These tests have the conditions of servers that somebody else runs. docs/stores.md
// lists such services, none of which we could test.

// perConnection makes the server look like another one in each connection, as a load
// balancer does that has several servers behind it.
func perConnection(request []byte) {
	overwrite(request, "(pg_control_system()).system_identifier", "pg_backend_pid()")
}

// overwrite replaces a text in a request with a shorter one and spaces.
func overwrite(request []byte, text, with string) {
	with += strings.Repeat(" ", len(text)-len(with))
	for at := bytes.Index(request, []byte(text)); at >= 0; at = bytes.Index(request, []byte(text)) {
		copy(request[at:], with)
	}
}

// If the fingerprint is another one in each connection, ids don't repeat. A process keeps
// one connection, so leases work, and another connection raises the fence. If it can't keep
// one, Open can't claim a lease.
func TestFingerprintOfEachConnection(t *testing.T) {
	t.Parallel()
	through, proxy := dbtest.Postgres(t).Through(t)
	proxy.Edit(perConnection)
	through = through.With("default_query_exec_mode=exec")
	cfg := snowkey.Config{MaxClockSkew: 20 * time.Millisecond, Window: time.Second}
	seen := make(map[int64]bool)
	fences := make(map[int64]bool)
	var conn *sql.DB
	for range 3 {
		conn = through.Connect(t)
		pool := dbtest.Must(snowkey.Open(t.Context(), open(t, through, conn, "lease"), cfg))(t)
		ids := dbtest.Must(pool.NextN(t.Context(), 1000))(t)
		for _, id := range ids {
			if seen[id] {
				t.Fatalf("%d came twice", id)
			}
			seen[id] = true
		}
		var fence int64
		dbtest.NoError(t, conn.QueryRow("SELECT fence FROM lease_ns").Scan(&fence))
		fences[fence] = true
		if err := pool.Close(context.Background()); err != nil && !errors.Is(err, context.DeadlineExceeded) { // on a busy machine
			t.Error(err)
		}
	}
	if len(fences) < 3 {
		t.Errorf("%d fences; the fingerprint did not change, so this test proves nothing", len(fences))
	}

	conn.SetMaxOpenConns(1) // so the store can't keep it
	conn.SetMaxIdleConns(-1)
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	if pool, err := snowkey.Open(ctx, open(t, through, conn, "lease"), cfg); err == nil {
		id, err := pool.Next(t.Context())
		t.Errorf("a lease was claimed although each statement saw another server: %d %v", id, err)
	}
}
