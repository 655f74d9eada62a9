package autoinc

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// The SQL of a backfill is for the numbers above its first parameter, up to the second. On MySQL
// and MariaDB, these variables of the session have them.
const rangeAfter, rangeLast = "@snowkey_after", "@snowkey_last"

// A batched is what the Size of a step returns: the last block or key of a range, and of all, and 0.
// If the step gives rows new keys, it is a row's number in the order, and the time of the row.
type batched struct{ last, end, at int64 }

// backfill runs the SQL of a step, or what reverses it, for one range of blocks or keys at a
// time, up to the last one that existed when it began. Later rows don't need it, because a
// trigger already fills them. Each range is recorded in its transaction.
func (a *applier) backfill(ctx context.Context, s Step, sql string, before entry) error {
	after, end := int64(math.MinInt64), int64(math.MaxInt64)
	_, _ = fmt.Sscanf(before.detail, "%d of %d", &after, &end) // there is no detail at first
	most, paced := int64(a.options.BatchSize), a.plan.Online && s.Run != assigning
	if a.IsMySQL() && paced {
		most = max(most/10, 1) // writers wait for longer than on Postgres
	}
	for rows := most; after < end; {
		if err := a.throttle(ctx); err != nil {
			return err
		}
		next, err := database.List(ctx, a.conn, s.Size, func(b *batched) []any { return []any{&b.last, &b.end, &b.at} }, after, rows)
		if err != nil || len(next) == 0 || next[0].last == math.MinInt64 {
			return err
		}
		last := next[len(next)-1].last
		end = min(end, next[0].end)
		args, variables := []any{after, last}, "SET "+rangeAfter+" = ?, "+rangeLast+" = ?"
		if s.Run == assigning {
			variables = "SET @snowkey_ids = ?"
			if args, err = a.assign(s, next); err != nil {
				return err
			}
		}
		whole := context.WithoutCancel(ctx) // if ctx ends, we stop before the next batch
		err = a.patiently(ctx, func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			began, args := time.Now(), args
			if a.IsMySQL() {
				if _, err := a.conn.ExecContext(whole, variables, args...); err != nil {
					return err
				}
				args = nil
			}
			return a.inTransaction(whole, []Step{s}, func() error { // a row must not get two keys
				_, err := a.conn.ExecContext(whole, sql, args...)
				if paced {
					rows = pace(rows, most, time.Since(began))
				}
				if err != nil {
					return err
				}
				return a.record(whole, s.ID, entry{started, fmt.Sprintf("%d of %d", last, end)})
			})
		})
		if err != nil {
			return err
		}
		after = last
		a.report(Progress{Step: s, Event: Filled, Done: min(after, end), Total: end})
		if after < end && database.Sleep(ctx, a.options.Pause) != nil {
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
// pg_monitor, so other users never wait for that. It also does what Control says.
func (a *applier) throttle(ctx context.Context) error {
	type load struct{ lag, active int64 } // lag in milliseconds
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 10*time.Second) {
		is, err := database.One(ctx, a.conn, a.query("load"), func(l *load) []any { return []any{&l.lag, &l.active} })
		switch {
		case err != nil:
			return err
		case is.lag > a.options.MaxLag.Milliseconds():
			a.retried(fmt.Errorf("a replica is %v behind; the backfill continues when it is at most %v behind", time.Duration(is.lag)*time.Millisecond, a.options.MaxLag))
		case a.options.MaxActive > 0 && is.active > int64(a.options.MaxActive):
			a.retried(fmt.Errorf("%d sessions are running a statement; the backfill continues when there are at most %d", is.active, a.options.MaxActive))
		default:
			return a.obey(ctx, false)
		}
		if err := database.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}
