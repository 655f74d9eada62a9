package autoinc

import (
	"context"
	"fmt"
	"time"

	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// backfill fills one range of blocks at a time, up to the last block that existed when
// it began. Later rows don't need it, because the trigger already fills them. Each
// range is recorded, and it's safe to fill a range again.
func (a *applier) backfill(ctx context.Context, s Step, before entry) error {
	type size struct{ blocks, rows int64 } // rows is an estimate of the rows per block
	of, err := database.One(ctx, a.conn, s.Size, func(s *size) []any { return []any{&s.blocks, &s.rows} })
	if err != nil {
		return err
	}
	var filled, total int64
	if _, err := fmt.Sscanf(before.detail, "%d of %d", &filled, &total); err != nil {
		filled, total = 0, of.blocks
	}
	most := max(int64(a.options.BatchSize)/max(of.rows, 1), 1)
	batch := most
	for filled < total {
		if err := a.throttle(ctx); err != nil {
			return err
		}
		if err := a.obey(ctx, false); err != nil {
			return err
		}
		end := min(filled+batch, total)
		err := a.patiently(ctx, func() error {
			// If ctx ends, we don't interrupt the batch, but stop before the next one.
			if ctx.Err() != nil {
				return ctx.Err()
			}
			began := time.Now()
			_, err := a.conn.ExecContext(context.WithoutCancel(ctx), s.SQL, filled, end)
			batch = pace(batch, most, time.Since(began))
			return err
		})
		if err != nil {
			return err
		}
		filled = end
		a.report(Progress{Step: s, Event: Filled, Done: filled, Total: total})
		if err := a.record(context.WithoutCancel(ctx), s, entry{started, fmt.Sprintf("%d of %d", filled, total)}); err != nil {
			return err
		}
		if filled < total && database.Sleep(ctx, a.options.Pause) != nil {
			return ctx.Err()
		}
	}
	return nil
}

// pace returns the size of the next batch. Writers wait for the rows of a batch, so it
// should take about 0.1 s.
func pace(size, most int64, took time.Duration) int64 {
	switch {
	case took > 100*time.Millisecond:
		return max(size/2, 1)
	case took < 50*time.Millisecond:
		return min(2*size, most)
	}
	return size
}

// throttle waits while a standby or a logical subscriber of Postgres lags behind, or while
// too many sessions are busy. The server only shows this to superusers and members of
// pg_monitor, so other users never wait.
func (a *applier) throttle(ctx context.Context) error {
	const query = `SELECT (SELECT coalesce(max(extract(epoch FROM replay_lag)) * 1000, 0)::bigint FROM pg_stat_replication WHERE state <> 'backup'),
		(SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND backend_type = 'client backend' AND pid <> pg_backend_pid())`
	type load struct{ lag, active int64 } // lag in milliseconds
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 10*time.Second) {
		is, err := database.One(ctx, a.conn, query, func(l *load) []any { return []any{&l.lag, &l.active} })
		switch {
		case err != nil:
			return err
		case is.lag > a.options.MaxLag.Milliseconds():
			a.retried(fmt.Errorf("a replica is %v behind; the backfill continues when it is at most %v behind", time.Duration(is.lag)*time.Millisecond, a.options.MaxLag))
		case a.options.MaxActive > 0 && is.active > int64(a.options.MaxActive):
			a.retried(fmt.Errorf("%d sessions are running a statement; the backfill continues when there are at most %d", is.active, a.options.MaxActive))
		default:
			return nil
		}
		if err := database.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}
