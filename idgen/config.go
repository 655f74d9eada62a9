package idgen

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"time"
)

// NoLimit is the largest duration. Use it for [Config.MaxAhead] or [Config.MaxWait] to
// remove the limit.
const NoLimit time.Duration = math.MaxInt64

// Config configures a [Pool]. Only Worker must be set.
type Config struct {
	// Worker returns the worker number, which no other running process may have. The
	// argument bits is the width of the layout's worker field. Package worker provides
	// functions for this field. There is no default, because processes that guessed the
	// same number would make the same ids.
	Worker func(bits int) (int64, error)

	// Layout divides the bits of an id into fields. Defaults to DefaultLayout().
	Layout Layout

	// MaxAhead limits how far ids may run ahead of the clock. Within this limit, calls
	// do not have to wait during a burst or after the clock took a small step back.
	// With NoLimit, the generator continues from its last id after any jump of the
	// clock. Note that a process that restarts within MaxAhead may repeat ids. If
	// MaxAhead is negative, ids never run ahead. Defaults to 10 ms, or to one unit of
	// the layout if that is longer.
	MaxAhead time.Duration

	// MaxWait limits how long a call waits for the clock beyond MaxAhead. A call that
	// would have to wait longer fails at once. If MaxWait is negative, calls never
	// wait. Defaults to 500 ms, or to one unit of the layout if that is longer, but to
	// no more than 5 s.
	MaxWait time.Duration

	// MaxBehind is how far the clock may fall behind before the generator logs an error
	// and reports that it is [Down]. It must not be less than MaxWait. Defaults to one
	// minute, or to MaxWait if that is longer.
	MaxBehind time.Duration

	// Rotate lets a generator continue when its calls would otherwise fail because the
	// clock was set back. From then on, ids contain the next number in the layout's
	// rollback field, so they are still unique, although smaller than earlier ids. Once
	// all rollback numbers are used, calls fail. The layout must have a rollback field.
	Rotate bool

	// NoSpread starts the sequence of every tick at 0 instead of at a changing offset.
	// This saves sequence numbers, but at low rates all ids are then multiples of
	// 2^sequenceBits, which means that id % N is the same for all of them if N is a
	// power of two up to that. Avoid NoSpread if a shard or table is chosen by id % N.
	NoSpread bool

	// MaxNames limits how many names [Pool.Named] accepts. This bounds the memory if
	// names come from user input, since each name takes about 350 bytes until the pool
	// is freed. The generators of any further names fail with [ErrTooManyNames].
	// Defaults to 65,536.
	MaxNames int

	// Clock replaces the system clock in tests. It must be safe for concurrent use.
	// Defaults to the system clock, whose steps take effect within a second.
	Clock func() time.Time

	// Logger receives an error when a generator is [Down], and a warning when Rotate
	// moves on to another rollback number or when less than 5 years of the layout
	// remain. Defaults to slog.Default().
	Logger *slog.Logger
}

// withDefaults returns cfg with defaults filled in and negative limits raised to 0.
func (cfg Config) withDefaults() Config {
	if cfg.Layout.IsZero() {
		cfg.Layout = DefaultLayout()
	}
	limit := func(d *time.Duration, zero time.Duration) {
		if *d == 0 {
			*d = zero
		}
		*d = max(*d, 0)
	}
	limit(&cfg.MaxAhead, max(10*time.Millisecond, cfg.Layout.unit))
	limit(&cfg.MaxWait, min(max(500*time.Millisecond, cfg.Layout.unit), 5*time.Second))
	limit(&cfg.MaxBehind, max(time.Minute, cfg.MaxWait))
	cfg.MaxNames = cmp.Or(cfg.MaxNames, 1<<16)
	return cfg
}

func (cfg Config) validate() error {
	switch {
	case cfg.MaxBehind < cfg.MaxWait:
		return configError("MaxBehind", fmt.Sprintf("%v is less than MaxWait %v; a generator would be down while its calls still wait", cfg.MaxBehind, cfg.MaxWait))
	case cfg.Rotate && cfg.Layout.rollback.bits == 0:
		return configError("Rotate", "needs a layout with a rollback field; add idgen.Rollback(bits) or leave Rotate off")
	case cfg.MaxNames < 0:
		return configError("MaxNames", fmt.Sprintf("is %d; use 1 or more, or 0 for the default", cfg.MaxNames))
	}
	_, err := cfg.Layout.tick(cfg.now())
	return err
}

func (cfg Config) now() time.Time {
	if cfg.Clock != nil {
		return cfg.Clock()
	}
	return time.Now()
}

func saturatingAdd(a, b time.Duration) time.Duration {
	if a > NoLimit-b {
		return NoLimit
	}
	return a + b
}
