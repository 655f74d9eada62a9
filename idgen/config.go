package idgen

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"time"
)

// NoLimit is the largest duration. As [Config.MaxAhead] or [Config.MaxWait], it means
// that there is no limit.
const NoLimit time.Duration = math.MaxInt64

// Config configures a [Pool]. Only Worker must be set.
type Config struct {
	// Worker returns the worker number, which no other running process may have. The
	// argument bits is the width of the layout's worker field. Package worker has
	// functions that you can use here. There is no default, because processes that
	// guessed the same number would make the same ids.
	Worker func(bits int) (int64, error)

	// Layout says which bits hold what. Defaults to DefaultLayout().
	Layout Layout

	// MaxAhead is how far ids may run ahead of the clock. Within MaxAhead, calls
	// do not wait during a burst or after the clock made a small step back. With
	// NoLimit the generator continues from its last id after any jump of the clock.
	// A process that restarts within MaxAhead may repeat ids. If MaxAhead is
	// negative, ids do not run ahead. Defaults to 10 ms, or to one unit of the
	// layout if that is longer.
	MaxAhead time.Duration

	// MaxWait is how long a call waits for the clock beyond MaxAhead. A call that
	// would wait longer fails at once. Negative means that no call waits. Defaults to
	// 500 ms, or to one unit of the layout if that is longer, but at most to 5 s.
	MaxWait time.Duration

	// MaxBehind is how far the clock may be behind before the generator logs an
	// error and its state is [Down]. It must not be less than MaxWait. Defaults to
	// one minute, or to MaxWait if that is longer.
	MaxBehind time.Duration

	// Rotate makes a generator continue when its calls would otherwise fail because
	// the clock was set back. From then on, ids contain the next number in the
	// layout's rollback field, so they are unique, but smaller than earlier ids. When
	// all rollback numbers are used, calls fail.
	Rotate bool

	// NoSpread starts the sequence of every tick at 0 instead of at a changing
	// offset. This saves sequence numbers. But at low rates all ids are then
	// multiples of 2^sequenceBits. If N is a power of two up to that, id % N is the
	// same for all of them.
	NoSpread bool

	// MaxNames is how many names [Pool.Named] accepts. It bounds the memory if names
	// come from user input: a name takes about 350 bytes until the pool is freed.
	// Generators of further names fail with [ErrTooManyNames]. Defaults to 65,536.
	MaxNames int

	// Clock replaces the system clock in tests. It must be safe for concurrent use.
	// Defaults to the system clock. A step of the system clock takes effect within
	// 100 ms.
	Clock func() time.Time

	// Logger receives an error when a generator is [Down], and a warning when Rotate
	// uses another rollback number or less than 5 years of the layout remain.
	// Defaults to slog.Default().
	Logger *slog.Logger
}

// withDefaults returns cfg with its defaults, and with 0 for negative limits.
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
		return &ConfigError{"MaxBehind", fmt.Sprintf("%v is less than MaxWait %v; a generator would be down while its calls still wait", cfg.MaxBehind, cfg.MaxWait)}
	case cfg.Rotate && cfg.Layout.rollback.bits == 0:
		return &ConfigError{"Rotate", "needs a layout with a rollback field; add idgen.Rollback(bits) or leave Rotate off"}
	case cfg.MaxNames < 0:
		return &ConfigError{"MaxNames", fmt.Sprintf("is %d; use 1 or more, or 0 for the default", cfg.MaxNames)}
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
