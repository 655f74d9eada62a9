package sqlstore_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// untilBlocked draws numbers until there is an error.
func untilBlocked(s *segment.Segment) (err error) {
	for n := 0; n < 20 && err == nil; n++ {
		_, err = s.Next(context.Background())
	}
	return err
}

// TestSegmentInATransaction draws numbers in transactions that have all connections but the
// store's, and then in one that has the only connection.
func TestSegmentInATransaction(t *testing.T) {
	dbtest.EachServer(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		conn := db.Connect(t)
		store := openSegments(t, db, conn, "segment")
		for _, connections := range []int{2, 1} {
			conn.SetMaxOpenConns(connections)
			log := new(record)
			s := dbtest.Must(segment.New(store, segment.Config{
				Name: "orders", MinStep: 1, MaxStep: 1, Timeout: 500 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(log, nil)),
			}))(t)
			if warned := log.count("level=WARN", "only one connection") == 1; warned != (connections == 1) {
				t.Errorf("%d connections: warned %v", connections, warned)
			}
			tx := dbtest.Must(conn.Begin())(t)
			err := untilBlocked(s)
			if _, blocked := errors.AsType[*segment.BlockedError](err); blocked != (connections == 1) || connections > 1 && err != nil {
				t.Errorf("%d connections: %v", connections, err)
			}
			dbtest.NoError(t, tx.Rollback())
			dbtest.Must(s.Next(t.Context()))(t)
			dbtest.NoError(t, s.Close(t.Context()))
			dbtest.Await(t, "the connection, which Close gives back", func() bool { return conn.Stats().InUse == 0 })
		}
	})
}

// TestSegmentBehindAWrite draws numbers in a transaction of SQLite that has written, with
// and without a busy_timeout that is longer than a fetch may take.
func TestSegmentBehindAWrite(t *testing.T) {
	t.Parallel()
	for _, timeout := range []string{"0", "1000"} {
		t.Run(timeout, func(t *testing.T) {
			t.Parallel()
			db := dbtest.SQLite(t)
			conn := db.Connect(t)
			dbtest.Exec(t, conn, "CREATE TABLE orders (id INTEGER PRIMARY KEY)")
			conn = db.With("_pragma=busy_timeout(" + timeout + ")").Connect(t)
			s := dbtest.Must(segment.New(openSegments(t, db, conn, "segment"), segment.Config{Name: "orders", MinStep: 1, MaxStep: 1, Timeout: 300 * time.Millisecond}))(t)
			defer s.Close(context.Background())
			tx := dbtest.Must(conn.Begin())(t)
			defer tx.Rollback()
			dbtest.Must(tx.Exec("INSERT INTO orders VALUES (1)"))(t)
			if blocked, ok := errors.AsType[*segment.BlockedError](untilBlocked(s)); !ok || blocked.Remedy == "" {
				t.Errorf("got %v, want a remedy", blocked)
			}
			dbtest.NoError(t, tx.Rollback())
			dbtest.Must(s.Next(t.Context()))(t)
		})
	}
}
