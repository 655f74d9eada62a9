package lease

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"
)

// Config configures [Open]. Only Layout, Epoch, Unit, PerTick and Workers,
// which describe the numbers, must be set; package snowkey does so.
type Config struct {
	Layout  string        // the layout, as text
	Epoch   time.Time     // the time of tick 0
	Unit    time.Duration // the length of a tick, whole microseconds
	PerTick int64         // counters in a tick
	Workers int64         // how many worker numbers the layout has

	// Namespace is what numbers are unique in. Processes that fill the same
	// tables share one. At most 64 bytes. Defaults to "default".
	Namespace string

	// MinWorker and MaxWorker limit the worker numbers to lease, both included,
	// to keep data centres apart. MaxWorker 0 means the largest of the layout.
	MinWorker, MaxWorker int64

	// Label names this process to people, in errors and in the table. Defaults to
	// the host's name, $PORT if it is set, and the address of a network card, which
	// are the same after a restart.
	Label string

	// PreferSame prefers the worker number that a process of the same Label held
	// last, if it is free.
	PreferSame bool

	// Window is how long numbers can be issued while the store is away. The lease
	// is renewed when two thirds of it are left. The same for all processes of a
	// namespace, because what may be lost from the store is reckoned by it. At
	// least 1 s. Defaults to 10 s.
	Window time.Duration

	// TTL is how long others wait before they take the worker number of a process
	// that ended without giving it back, and MaxClockSkew on top. Not less than
	// Window. Defaults to one and a half times Window.
	TTL time.Duration

	// MaxClockSkew is how far the host's clock may be from the store's, and the
	// clocks of servers that replace each other from one another. The same for
	// all processes of a namespace. A new namespace issues its first number this
	// much later, because another of that name may have been lost. Defaults to
	// 1 s, which is what NTP clients commonly mend at once.
	MaxClockSkew time.Duration

	// Compatible returns nil if no number of this layout from that time on can
	// ever equal one of the layout that is stored, as text; else it says which.
	// It is asked when the namespace has another layout. Defaults to a refusal.
	Compatible func(stored string, from time.Time) error

	// SkipMigrate leaves the tables to your own migration; docs/leases.md has the
	// statements.
	SkipMigrate bool

	// OnLost is called, in a goroutine of the keeper's, when a lease was lost.
	OnLost func(*LostError)

	// Logger is told of leases claimed, lost and given back. Defaults to
	// slog.Default().
	Logger *slog.Logger

	// Clock tells the host's time, for tests. Defaults to time.Now.
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
			return errors.New("the two may make the same number; use another namespace for another table")
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

// storable reports whether all stores keep s as it is and tell it from others.
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
