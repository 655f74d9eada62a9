package idgen

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"
)

// NoLimit is the largest duration. Use it to remove the limit set by [Config.MaxAhead] or
// [Config.MaxWait].
const NoLimit time.Duration = math.MaxInt64

// Config configures a [Pool]. Worker is the only required field.
type Config struct {
	// Worker returns the worker number, which no other running process may have. It's
	// called with the width of the layout's worker field. See package worker for
	// ready-made functions. There's no default: processes guessing the same number would
	// generate the same ids.
	Worker func(bits int) (int64, error)

	// Layout divides the bits of an id into fields. Defaults to DefaultLayout().
	Layout Layout

	// MaxAhead limits how far ids may run ahead of the clock. Up to this limit, calls
	// don't have to wait during a burst or after the clock takes a small step back. With
	// NoLimit, the generator just continues from its last id no matter how the clock
	// jumps. Note that a process restarted within MaxAhead might repeat ids. A negative
	// MaxAhead means that ids never run ahead. Defaults to 10 ms, or one unit of the
	// layout if that's longer.
	MaxAhead time.Duration

	// MaxWait limits how long a call waits for the clock once MaxAhead is used up. Calls
	// that would need longer fail right away. If negative, calls never wait. Defaults to
	// 500 ms, or one unit of the layout if that's longer, up to a maximum of 5 s.
	MaxWait time.Duration

	// MaxBehind is how far the clock may fall behind before the generator logs an error
	// and reports that it's [Down]. It can't be less than MaxWait. Defaults to one
	// minute, or MaxWait if that's longer.
	MaxBehind time.Duration

	// Rotate lets a generator continue when calls would otherwise fail because the clock
	// was set back. It does this by switching to the next number in the layout's rollback
	// field, so later ids are still unique, but smaller than earlier ones. Calls fail
	// once all rollback numbers are used up. Requires a layout with a rollback field.
	Rotate bool

	// NoSpread starts each tick's sequence at 0 instead of a changing offset. That saves
	// sequence numbers, but at low rates every id will then be a multiple of
	// 2^sequenceBits, and id % N is the same for all of them if N is a power of two up to
	// that. Avoid it if you choose a shard or table by id % N.
	NoSpread bool

	// MaxNames limits how many names [Pool.Named] accepts. Each name takes about 350
	// bytes until the pool is freed, so this keeps memory bounded if names come from user
	// input. Generators for any further names fail with [ErrTooManyNames]. Defaults to
	// 65,536.
	MaxNames int

	// Clock replaces the system clock in tests. It must be safe for concurrent use.
	// Defaults to the system clock (any change to it takes effect within a second).
	Clock func() time.Time

	// Logger receives an error when a generator is [Down], and a warning when Rotate
	// moves on to another rollback number or the layout has less than 5 years left.
	// Defaults to slog.Default().
	Logger *slog.Logger
}

// withDefaults returns cfg with defaults filled in and negative limits raised to 0.
func (cfg Config) withDefaults() Config {
	if cfg.Layout.IsZero() {
		cfg.Layout = DefaultLayout()
	}
	unit := cfg.Layout.unit
	cfg.MaxAhead = max(cmp.Or(cfg.MaxAhead, max(10*time.Millisecond, unit)), 0)
	cfg.MaxWait = max(cmp.Or(cfg.MaxWait, min(max(500*time.Millisecond, unit), 5*time.Second)), 0)
	cfg.MaxBehind = max(cmp.Or(cfg.MaxBehind, max(time.Minute, cfg.MaxWait)), 0)
	cfg.MaxNames = cmp.Or(cfg.MaxNames, 1<<16)
	return cfg
}

func (cfg Config) validate() error {
	switch {
	case cfg.MaxBehind < cfg.MaxWait:
		return fmt.Errorf("idgen: Config.MaxBehind %v is less than MaxWait %v; a generator would be down while its calls still wait", cfg.MaxBehind, cfg.MaxWait)
	case cfg.Rotate && cfg.Layout.rollback.bits == 0:
		return errors.New("idgen: Config.Rotate needs a layout with a rollback field; add idgen.Rollback(bits) or leave Rotate off")
	case cfg.MaxNames < 0:
		return fmt.Errorf("idgen: Config.MaxNames is %d; use 1 or more, or 0 for the default", cfg.MaxNames)
	}
	now := time.Now
	if cfg.Clock != nil {
		now = cfg.Clock
	}
	_, err := cfg.Layout.tick(now())
	return err
}

func saturatingAdd(a, b time.Duration) time.Duration {
	if a > NoLimit-b {
		return NoLimit
	}
	return a + b
}
