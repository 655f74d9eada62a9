package autoinc

import (
	"context"
	"fmt"

	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// backfill fills a range of blocks at a time, from the first to the last that
// there was when it began: rows that came later are filled as they come. Each
// range is recorded, and can be filled again safely.
func (a *applier) backfill(ctx context.Context, phase Phase, s Step, before entry) error {
	type size struct{ blocks, rows int64 } // rows in a block, about
	of, err := database.One(ctx, a.conn, s.Size, func(s *size) []any { return []any{&s.blocks, &s.rows} })
	if err != nil {
		return failedStep(s, err)
	}
	var filled, total int64
	if _, err := fmt.Sscanf(before.detail, "%d of %d", &filled, &total); err != nil {
		filled, total = 0, of.blocks
	}
	batch := max(int64(a.options.BatchSize)/max(of.rows, 1), 1)
	for filled < total {
		end := min(filled+batch, total)
		again := func(err error) { a.options.Progress(Progress{Phase: phase.Name, Step: s, Event: Retried, Err: err}) }
		err := a.patiently(ctx, func() error {
			_, err := a.conn.ExecContext(ctx, s.SQL, filled, end)
			return err
		}, again)
		if err != nil {
			return failedStep(s, err)
		}
		filled = end
		a.options.Progress(Progress{Phase: phase.Name, Step: s, Event: Filled, Done: filled, Total: total})
		if err := a.record(ctx, s, entry{started, fmt.Sprintf("%d of %d", filled, total)}); err != nil {
			return err
		}
		if filled < total && database.Sleep(ctx, a.options.Pause) != nil {
			return failedStep(s, ctx.Err())
		}
	}
	return nil
}
