package lease

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"
)

// Config configures [Open]. Only the fields that describe the ids must be set: Layout,
// Epoch, Unit, PerTick and Workers. Package snowkey sets them.
type Config struct {
	Layout  string        // the layout, as text
	Epoch   time.Time     // the time of tick 0
	Unit    time.Duration // the length of a tick, whole microseconds
	PerTick int64         // counters in a tick
	Workers int64         // how many worker numbers the layout has

	// Namespace is the scope in which ids are unique: processes that fill the same
	// tables share a namespace. At most 64 bytes. Defaults to "default".
	Namespace string

	// MinWorker and MaxWorker limit the worker numbers that may be leased, both
	// included, for instance to give each data center a range. MaxWorker 0 means the
	// largest of the layout.
	MinWorker, MaxWorker int64

	// Label names this process in errors and in the table. It should be the same
	// after a restart. Defaults to the host's name, $PORT if it is set, and the
	// address of a network card.
	Label string

	// PreferSame prefers the worker number that a process with this Label held
	// last, if it is free.
	PreferSame bool

	// Window is how long ids can be issued while the store is unavailable. The lease
	// is renewed when two thirds of Window are left. All processes of a namespace must
	// have the same Window, because the fence after lost commits depends on it. At
	// least 1 s. Defaults to 10 s.
	Window time.Duration

	// TTL is how long the worker number of a process that was killed stays
	// reserved. Other processes wait for MaxClockSkew in addition. Not less than
	// Window. Defaults to one and a half times Window.
	TTL time.Duration

	// MaxClockSkew is how far the host's clock may be from the store's clock, and how
	// far the clocks of servers may differ that replace each other. All processes of a
	// namespace must have the same MaxClockSkew. A new namespace issues its first id
	// this much later, because a namespace of the same name may have been lost.
	// Defaults to 1 s. NTP clients commonly correct a larger difference at once.
	MaxClockSkew time.Duration

	// Compatible is called if the namespace has another layout, which it gets as
	// text. It returns nil if no id of this layout from that time on can be equal to
	// any id of the stored layout. By default it returns an error.
	Compatible func(stored string, from time.Time) error

	// SkipMigrate leaves the tables to your own migration; docs/leases.md has the
	// statements.
	SkipMigrate bool

	// OnLost is called in a goroutine of its own after a lease was lost.
	OnLost func(*LostError)

	// Logger receives which leases are claimed, lost and released. Defaults to
	// slog.Default().
	Logger *slog.Logger

	// Clock returns the host's time, for tests. Defaults to time.Now.
	Clock func() time.Time
}

func (cfg Config) withDefaults() Config {
	if cfg.Namespace == "" {
		cfg.Namespace = "default"
	}
	if cfg.MaxWorker == 0 {
		cfg.MaxWorker = cfg.Workers - 1
	}
	if cfg.Label == "" {
		cfg.Label = defaultLabel()
	}
	if cfg.Window == 0 {
		cfg.Window = 10 * time.Second
	}
	if cfg.TTL == 0 {
		cfg.TTL = cfg.Window + cfg.Window/2
	}
	if cfg.MaxClockSkew == 0 {
		cfg.MaxClockSkew = time.Second
	}
	if cfg.Compatible == nil {
		cfg.Compatible = func(string, time.Time) error {
			return errors.New("the two layouts may make the same id; use another namespace for other tables")
		}
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	return cfg
}

func (cfg Config) validate() error {
	const most = 64
	switch {
	case len(cfg.Namespace) > most || !storable(cfg.Namespace):
		return &ConfigError{"Namespace", fmt.Sprintf("%.80q cannot be stored; use %d bytes at most, of UTF-8 without zeros and without a space at the end", cfg.Namespace, most)}
	case len(cfg.Label) > 255 || !storable(cfg.Label):
		return &ConfigError{"Label", fmt.Sprintf("%.80q cannot be stored; use 255 bytes at most, of UTF-8 without zeros and without a space at the end", cfg.Label)}
	case len(cfg.Layout) > 255 || !storable(cfg.Layout):
		return &ConfigError{"Layout", fmt.Sprintf("%.80q cannot be stored; use 255 bytes at most, with shorter names of fields", cfg.Layout)}
	case cfg.Unit < time.Microsecond || cfg.Unit%time.Microsecond != 0:
		return &ConfigError{"Unit", fmt.Sprintf("%v is not a whole number of microseconds; use a layout with another unit", cfg.Unit)}
	case cfg.PerTick < 1 || cfg.Workers < 1:
		return &ConfigError{"PerTick", "and Workers must be positive"}
	case cfg.MinWorker < 0 || cfg.MaxWorker < cfg.MinWorker || cfg.MaxWorker >= cfg.Workers:
		return &ConfigError{"MinWorker", fmt.Sprintf("%d and MaxWorker %d are not a range within 0 to %d", cfg.MinWorker, cfg.MaxWorker, cfg.Workers-1)}
	case cfg.Window < time.Second:
		return &ConfigError{"Window", fmt.Sprintf("%v is less than a second; a slow renewal would already stop ids", cfg.Window)}
	case cfg.TTL < cfg.Window:
		return &ConfigError{"TTL", fmt.Sprintf("%v is less than Window %v; the worker number would be free while ids are still issued", cfg.TTL, cfg.Window)}
	case cfg.MaxClockSkew < 0:
		return &ConfigError{"MaxClockSkew", fmt.Sprintf("%v is negative", cfg.MaxClockSkew)}
	}
	return nil
}

// storable reports whether all stores can store s without changing it.
func storable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsRune(s, 0) && !strings.HasSuffix(s, " ")
}

func (cfg Config) terms() Terms {
	return Terms{
		Namespace: cfg.Namespace,
		Layout:    cfg.Layout,
		Epoch:     cfg.Epoch.UnixMicro(),
		Unit:      cfg.Unit.Microseconds(),
		PerTick:   cfg.PerTick,
		Workers:   cfg.Workers,
		Ahead:     (cfg.Window + cfg.MaxClockSkew).Microseconds(),
		Skew:      cfg.MaxClockSkew.Microseconds(),
		TTL:       cfg.TTL.Microseconds(),
	}
}

func (cfg Config) log() *slog.Logger {
	if cfg.Logger != nil {
		return cfg.Logger
	}
	return slog.Default()
}
