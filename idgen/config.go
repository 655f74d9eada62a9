package idgen

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"time"
)

// NoLimit is for [Config.MaxAhead] and [Config.MaxWait]: as long as it takes.
const NoLimit time.Duration = math.MaxInt64

// Config configures a [Pool]. Only Worker must be set.
type Config struct {
	// Worker returns the number that makes this process's ids differ from those
	// of all others; bits is the width of the layout's worker field. Package
	// worker has ready ones. There is no default: a guessed number repeats ids.
	Worker func(bits int) (int64, error)

	// Layout says which bits hold what. Defaults to DefaultLayout().
	Layout Layout

	// MaxAhead is how far ids may run ahead of the clock, so that bursts and
	// small backward steps cost no wait. With NoLimit the generator carries on
	// from its last id however the clock jumps. A process that restarts sooner
	// than this may repeat ids. Negative means not at all. Defaults to 10 ms,
	// or to one unit of the layout if that is longer.
	MaxAhead time.Duration

	// MaxWait is how long a call waits for the clock beyond MaxAhead before it
	// fails instead. Negative means it never waits. Defaults to 500 ms, or to
	// one unit of the layout if that is longer, but at most to 5 s.
	MaxWait time.Duration

	// MaxBehind is how far the clock may be behind before the generator reports
	// itself Down and says so in the log. Not less than MaxWait. Defaults to one
	// minute, or to MaxWait if that is longer.
	MaxBehind time.Duration

	// Rotate lets a generator go on in the past, under the next number of the
	// layout's rollback field, where it would otherwise fail because the clock
	// was set back. Such ids are unique but smaller than those before. When all
	// rollback numbers are used, calls fail after all.
	Rotate bool

	// NoSpread begins the sequence of every tick at 0 instead of at a changing
	// offset. It saves sequence numbers, and makes ids at low rates multiples of
	// 2^sequenceBits: id % N is then the same for all of them.
	NoSpread bool

	// MaxNames is how many names [Pool.Named] takes, so that codes from outside do
	// not fill the memory: a name takes about 350 bytes and is kept for as long as
	// the pool. Generators of further names answer with [ErrTooManyNames]. Defaults to
	// 65,536.
	MaxNames int

	// Clock tells the time instead of the system, for tests. It must be safe for
	// concurrent use. Defaults to the system's clock, whose steps are seen
	// within 100 ms.
	Clock func() time.Time

	// Logger is told when the clock is down and when the layout nears its end.
	// Defaults to slog.Default().
	Logger *slog.Logger
}

// withDefaults returns cfg with every zero replaced and "negative means not at
// all" resolved to 0.
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
