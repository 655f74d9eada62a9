package hostile

import (
	"cmp"
	"context"
	"database/sql"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/idgen/segment/segmentstore"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// testSegment lets two programs draw 50 numbers at a time from one segment, under the
// setting. Both must get numbers, and there must be no duplicates, although a statement may
// be acknowledged but never committed.
func (r row) testSegment(t *testing.T, server dbtest.DB) {
	db, sessions := r.open(t, server)
	dbtest.NoError(t, segmentStores[db.Dialect](db.Connect(t)).Migrate(t.Context()))
	draws := 12
	if dbtest.Nightly {
		draws = 40
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var mu sync.Mutex
	var all []int64
	var wg sync.WaitGroup
	for name, as := range sessions {
		pool := as.connect(t, db)
		s := dbtest.Must(segment.New(segmentStores[db.Dialect](pool), segment.Config{
			Name: cmp.Or(r.space, "numbers"), MinStep: 50, MaxStep: 50, Timeout: 2 * time.Second, Logger: slog.New(slog.DiscardHandler),
		}))(t)
		wg.Go(func() {
			defer s.Close(context.WithoutCancel(ctx))
			for i := range draws {
				if r.app != nil && i%4 == 0 {
					_ = r.app(ctx, pool) // ignore errors, which are those of the application
				}
				numbers, err := s.Append(ctx, nil, 50)
				if err != nil {
					if r.want == works || !r.named(err) {
						t.Errorf("program %s: %v", name, err)
					}
					return
				}
				mu.Lock()
				all = append(all, numbers...)
				mu.Unlock()
				time.Sleep(recycled / 6)
			}
		})
	}
	wg.Wait()
	if n, first := repeated(all); n > 0 {
		t.Errorf("%d duplicates among %d numbers, such as %d", n, len(all), first)
	}
}

var segmentStores = map[string]func(*sql.DB) *segmentstore.Store{"postgres": segmentstore.Postgres, "mysql": segmentstore.MySQL}
