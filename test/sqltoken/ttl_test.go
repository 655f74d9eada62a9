package sqltoken_test

import (
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/tokentest"
	"github.com/snowkey-go/snowkey/token"
)

// TestCleanupOfTwoSigners keeps sessions of 12 hours and of 30 days in one table, as a
// program does that lets users stay logged in. Cleanup must leave those of 30 days alone.
func TestCleanupOfTwoSigners(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		b := newBench(t)
		store := open(t, db, db.Connect(t))
		keys := dbtest.Must(token.ParseKeys(tokentest.Keys))(t)
		days := dbtest.Must(token.New(token.Config{Keys: keys, IDs: b.pool, TTL: 30 * 24 * time.Hour, Idle: -1, Clock: func() time.Time { return b.now }}))(t)
		short := b.login(t, store, 7)
		long, err := days.Issue(t.Context())
		if err == nil {
			err = store.Add(t.Context(), long, 7)
		}
		dbtest.NoError(t, err)
		for _, after := range []struct {
			days float64
			left []int64
		}{{0.4, []int64{long.ID, short.ID}}, {0.6, []int64{long.ID}}, {29.9, []int64{long.ID}}, {30.1, nil}} {
			now := short.Seen.Add(time.Duration(after.days * 24 * float64(time.Hour)))
			dbtest.NoError(t, store.Cleanup(t.Context(), now))
			ids, err := store.Sessions(t.Context(), 7)
			if err != nil || len(ids) != len(after.left) || len(ids) > 0 && ids[0] != long.ID {
				t.Errorf("after %v days, the sessions are %d, %v; want %d", after.days, ids, err, after.left)
			}
		}
	})
}
