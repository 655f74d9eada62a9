package segment

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/snowkey-go/snowkey/internal/leased"
)

// Config configures a [Segment]. Name is the only required field.
type Config struct {
	// Name identifies the numbers in the store, and is created on first use. Each table
	// can have its own, but processes filling the same table must use the same name. At
	// most 64 bytes.
	Name string

	// MinValue and MaxValue are the smallest and largest numbers to issue. You can raise
	// MinValue at any time (e.g. above the largest number in a table) and an existing
	// name will continue from there. It defaults to 1. MaxValue defaults to 2^63-2, the
	// largest possible value. Set it to math.MaxInt32 for a 32-bit column.
	MinValue, MaxValue int64

	// Offset and Stride are for writers with separate databases whose rows will be merged
	// at some point. All writers have to use the same Stride, and each one a different
	// Offset from 0 to Stride-1. A writer then gets the numbers n for which n % Stride is
	// its Offset, so there can be no more than Stride writers. To change the Stride,
	// first stop all writers and raise MinValue above every number that was granted.
	// Stride is at most 2^32. The defaults of 0 and 1 give you all numbers.
	Offset, Stride int64

	// MinStep and MaxStep limit the step, i.e. how many numbers are fetched by one
	// statement. A process leaves a gap of about one to two steps when it ends. Calls
	// needing more than MaxStep numbers still fetch them with a single statement. MaxStep
	// is at most 2^32. The defaults are 100 and 1,048,576, or MinStep if that's larger.
	MinStep, MaxStep int64

	// Ahead is how long the numbers of one step should last. The Segment adapts the step
	// to demand, between MinStep and MaxStep. With the store unavailable, fetched numbers
	// will last for Ahead to 2 × Ahead. Demand can jump a hundredfold without making
	// calls wait, as long as a statement takes less than a hundredth of Ahead. Defaults
	// to 1 s.
	Ahead time.Duration

	// Timeout is how long a statement may take before its context ends. Once the Store
	// has returned, the Segment sends another statement, skipping the numbers that the
	// first one may have reserved. Defaults to 5 s.
	Timeout time.Duration

	// MaxBlocked limits how long a call will wait while this process itself keeps the
	// store from answering, because every connection of the *sql.DB is used by a
	// transaction waiting for numbers. The call then fails with a [*BlockedError], even
	// if there's time left on its context. Defaults to two times Timeout.
	MaxBlocked time.Duration

	// Logger receives a message when the store fails, and another once it grants numbers
	// again. Defaults to slog.Default().
	Logger *slog.Logger
}

// withDefaults returns cfg with zero fields set to their defaults.
func (cfg Config) withDefaults() Config {
	cfg.MinValue = cmp.Or(cfg.MinValue, 1)
	cfg.MaxValue = cmp.Or(cfg.MaxValue, math.MaxInt64-1)
	cfg.Stride = cmp.Or(cfg.Stride, 1)
	cfg.MinStep = cmp.Or(cfg.MinStep, 100)
	cfg.MaxStep = cmp.Or(cfg.MaxStep, max(1<<20, cfg.MinStep))
	cfg.Ahead = cmp.Or(cfg.Ahead, time.Second)
	cfg.Timeout = cmp.Or(cfg.Timeout, 5*time.Second)
	cfg.MaxBlocked = cmp.Or(cfg.MaxBlocked, 2*cfg.Timeout)
	return cfg
}

func (cfg Config) log() *slog.Logger {
	return cmp.Or(cfg.Logger, slog.Default())
}

func (cfg Config) validate(store Store) error {
	const longest = 64
	const largest, widest int64 = math.MaxInt64 - 1, 1 << 32
	switch {
	case store == nil:
		return fmt.Errorf("segment: Config.Name %.80q has no store; pass one to New, such as segmentstore.Postgres(db)", cfg.Name)
	case cfg.Name == "" || len(cfg.Name) > longest || !leased.Storable(cfg.Name):
		return fmt.Errorf("segment: Config.Name %.80q cannot be stored; use 1 to %d bytes of UTF-8, without zeros and without a space at the end", cfg.Name, longest)
	case cfg.MinValue < 1 || cfg.MaxValue < cfg.MinValue || cfg.MaxValue > largest:
		return fmt.Errorf("segment: Config.MinValue %d and MaxValue %d are not a range within 1 to %d", cfg.MinValue, cfg.MaxValue, largest)
	case cfg.Stride < 1 || cfg.Stride > widest || cfg.Offset < 0 || cfg.Offset >= cfg.Stride:
		return fmt.Errorf("segment: Config.Offset %d is not within 0 to Stride-1, or Stride %d not within 1 to %d; of three writers the Stride is 3 and the Offsets are 0, 1 and 2", cfg.Offset, cfg.Stride, widest)
	case cfg.MinStep < 1 || cfg.MaxStep < cfg.MinStep || cfg.MaxStep > widest:
		return fmt.Errorf("segment: Config.MinStep %d and MaxStep %d are not a range within 1 to %d", cfg.MinStep, cfg.MaxStep, widest)
	case cfg.Ahead < 0:
		return fmt.Errorf("segment: Config.Ahead %v is negative", cfg.Ahead)
	case cfg.Timeout < 0:
		return fmt.Errorf("segment: Config.Timeout %v is negative", cfg.Timeout)
	case cfg.MaxBlocked < 0:
		return fmt.Errorf("segment: Config.MaxBlocked %v is negative", cfg.MaxBlocked)
	}
	return nil
}

// within returns the numbers from start to end-1 that belong to the Offset.
func (cfg Config) within(start, end int64) run {
	skip := (cfg.Offset - start) % cfg.Stride
	if skip < 0 {
		skip += cfg.Stride
	}
	if skip >= end-start {
		return run{}
	}
	return run{start + skip, (end-1-start-skip)/cfg.Stride + 1}
}
