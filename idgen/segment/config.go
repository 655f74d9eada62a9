package segment

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// Config configures a [Segment]. Only Name must be set.
type Config struct {
	// Name identifies the numbers in the store. Processes that fill the same table
	// use the same name, and each table may have a name of its own. The store creates
	// a name on first use. At most 64 bytes.
	Name string

	// MinValue and MaxValue limit the numbers, both included. You may raise MinValue
	// at any time, for instance above the largest number in a table. A name that
	// already exists then continues there. MinValue defaults to 1. MaxValue defaults
	// to 2^63-2, the largest possible; set math.MaxInt32 for a column of 32 bits.
	MinValue, MaxValue int64

	// Offset and Stride are for writers with separate databases whose rows are
	// merged later. All writers have the same Stride, which is the largest number of
	// writers. Each has a different Offset from 0 to Stride-1, and gets the numbers n
	// for which n % Stride is Offset. To change the Stride, stop all writers and
	// raise MinValue above every number that was granted. Stride is at most 2^32.
	// Defaults to 0 and 1, which gives all numbers.
	Offset, Stride int64

	// MinStep and MaxStep limit the step, which is how many numbers a statement
	// fetches. When a process ends, the numbers that it has not used become a gap of
	// about one to two steps. If a call needs more than MaxStep numbers, they are also
	// fetched with one statement. MaxStep is at most 2^32. Defaults to 100 and
	// 1,048,576, or to MinStep if that is larger.
	MinStep, MaxStep int64

	// Ahead is how long the numbers of one step should last. The Segment adapts the
	// step to demand, between MinStep and MaxStep. If the store is unavailable, the
	// fetched numbers last for Ahead to 2 × Ahead. If a statement takes less than a
	// hundredth of Ahead, demand can rise a hundredfold without a wait. Defaults to
	// 1 s.
	Ahead time.Duration

	// Timeout is how long a statement may take before its context ends. Once the
	// Store has returned, the Segment sends another statement. Numbers that the first
	// statement may have reserved are skipped. Defaults to 5 s.
	Timeout time.Duration

	// Logger receives a message when the store fails and when it grants numbers
	// again. Defaults to slog.Default().
	Logger *slog.Logger
}

// withDefaults returns cfg with every zero replaced.
func (cfg Config) withDefaults() Config {
	cfg.MinValue = cmp.Or(cfg.MinValue, 1)
	cfg.MaxValue = cmp.Or(cfg.MaxValue, math.MaxInt64-1)
	cfg.Stride = cmp.Or(cfg.Stride, 1)
	cfg.MinStep = cmp.Or(cfg.MinStep, 100)
	cfg.MaxStep = cmp.Or(cfg.MaxStep, max(1<<20, cfg.MinStep))
	cfg.Ahead = cmp.Or(cfg.Ahead, time.Second)
	cfg.Timeout = cmp.Or(cfg.Timeout, 5*time.Second)
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
		return &ConfigError{"Name", fmt.Sprintf("%.80q has no store; pass one to New, such as segmentstore.Postgres(db)", cfg.Name)}
	case cfg.Name == "" || len(cfg.Name) > longest || !utf8.ValidString(cfg.Name) || strings.ContainsRune(cfg.Name, 0) || strings.HasSuffix(cfg.Name, " "):
		return &ConfigError{"Name", fmt.Sprintf("%.80q cannot be stored; use 1 to %d bytes of UTF-8, without zeros and without a space at the end", cfg.Name, longest)}
	case cfg.MinValue < 1 || cfg.MaxValue < cfg.MinValue || cfg.MaxValue > largest:
		return &ConfigError{"MinValue", fmt.Sprintf("%d and MaxValue %d are not a range within 1 to %d", cfg.MinValue, cfg.MaxValue, largest)}
	case cfg.Stride < 1 || cfg.Stride > widest || cfg.Offset < 0 || cfg.Offset >= cfg.Stride:
		return &ConfigError{"Offset", fmt.Sprintf("%d is not within 0 to Stride-1, or Stride %d not within 1 to %d; of three writers the Stride is 3 and the Offsets are 0, 1 and 2", cfg.Offset, cfg.Stride, widest)}
	case cfg.MinStep < 1 || cfg.MaxStep < cfg.MinStep || cfg.MaxStep > widest:
		return &ConfigError{"MinStep", fmt.Sprintf("%d and MaxStep %d are not a range within 1 to %d", cfg.MinStep, cfg.MaxStep, widest)}
	case cfg.Ahead < 0:
		return &ConfigError{"Ahead", fmt.Sprintf("%v is negative", cfg.Ahead)}
	case cfg.Timeout < 0:
		return &ConfigError{"Timeout", fmt.Sprintf("%v is negative", cfg.Timeout)}
	}
	return nil
}

// within returns the places of the numbers from start to end-1.
func (cfg Config) within(start, end int64) run {
	return run{cfg.place(start), cfg.place(end) - 1}
}

// place returns the place of number, or of the next number that has a place.
func (cfg Config) place(number int64) int64 {
	place := (number - cfg.Offset) / cfg.Stride // rounds up below 0, else down
	if number > place*cfg.Stride+cfg.Offset {
		place++
	}
	return place
}
