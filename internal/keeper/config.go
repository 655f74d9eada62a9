package keeper

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/snowkey-go/snowkey/lease"
)

// A Config is what package snowkey makes from a snowkey.Config. The protocol doesn't
// depend on layouts, so the layout is reduced to a few numbers. The fields from
// Namespace on have the same meaning and defaults as in snowkey.Config.
type Config struct {
	Layout  string        // as text
	Epoch   time.Time     // the time of tick 0
	Unit    time.Duration // the length of a tick, whole microseconds
	PerTick int64         // counters in a tick
	Workers int64         // how many worker numbers the layout has

	// Compatible is called if the namespace already has another layout, whose text is
	// passed as stored. It should return nil if no id that this layout makes at or after
	// from can be equal to any id of the stored layout. By default, it always returns an
	// error.
	Compatible func(stored string, from time.Time) error

	Namespace                 string
	MinWorker, MaxWorker      int64
	Ranged                    bool // whether MaxWorker 0 means the worker number 0
	Label                     string
	PreferSame                bool
	Window, TTL, MaxClockSkew time.Duration
	MaxBlocked                time.Duration
	SkipMigrate               bool
	OnLost                    func(*lease.LostError)
	Logger                    *slog.Logger
	Clock                     func() time.Time
}

// DefaultWindow is the default of Config.Window.
const DefaultWindow = 10 * time.Second

// shortestWindow is for tests. Package snowkey demands a second.
const shortestWindow = 50 * time.Millisecond

func (cfg Config) withDefaults() Config {
	if cfg.Namespace == "" {
		cfg.Namespace = "default"
	}
	if cfg.MaxWorker == 0 && !cfg.Ranged {
		cfg.MaxWorker = cfg.Workers - 1
	}
	if cfg.Label == "" {
		cfg.Label = defaultLabel()
	}
	if cfg.Window == 0 {
		cfg.Window = DefaultWindow
	}
	if cfg.TTL == 0 {
		cfg.TTL = cfg.Window + cfg.Window/2
	}
	if cfg.MaxClockSkew == 0 {
		cfg.MaxClockSkew = time.Second
	}
	if cfg.MaxBlocked == 0 {
		cfg.MaxBlocked = 2 * cfg.Window
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
		return &lease.ConfigError{Field: "Namespace", Reason: fmt.Sprintf("%.80q cannot be stored; use %d bytes at most, of UTF-8 without zeros and without a space at the end", cfg.Namespace, most)}
	case len(cfg.Label) > 255 || !storable(cfg.Label):
		return &lease.ConfigError{Field: "Label", Reason: fmt.Sprintf("%.80q cannot be stored; use 255 bytes at most, of UTF-8 without zeros and without a space at the end", cfg.Label)}
	case len(cfg.Layout) > 255 || !storable(cfg.Layout):
		return &lease.ConfigError{Field: "Layout", Reason: fmt.Sprintf("%.80q cannot be stored; use 255 bytes at most, with shorter names of fields", cfg.Layout)}
	case cfg.Unit < time.Microsecond || cfg.Unit%time.Microsecond != 0:
		return &lease.ConfigError{Field: "Unit", Reason: fmt.Sprintf("%v is not a whole number of microseconds; use a layout with another unit", cfg.Unit)}
	case cfg.PerTick < 1 || cfg.Workers < 1:
		return &lease.ConfigError{Field: "PerTick", Reason: "and Workers must be positive"}
	case cfg.MinWorker < 0 || cfg.MaxWorker < cfg.MinWorker || cfg.MaxWorker >= cfg.Workers:
		return &lease.ConfigError{Field: "MinWorker", Reason: fmt.Sprintf("%d and MaxWorker %d are not a range within 0 to %d", cfg.MinWorker, cfg.MaxWorker, cfg.Workers-1)}
	case cfg.Window < shortestWindow:
		return &lease.ConfigError{Field: "Window", Reason: fmt.Sprintf("%v is less than %v", cfg.Window, shortestWindow)}
	case cfg.TTL < cfg.Window:
		return &lease.ConfigError{Field: "TTL", Reason: fmt.Sprintf("%v is less than Window %v; the worker number would be free while ids are still issued", cfg.TTL, cfg.Window)}
	case cfg.MaxBlocked < 0:
		return &lease.ConfigError{Field: "MaxBlocked", Reason: fmt.Sprintf("%v is negative", cfg.MaxBlocked)}
	case cfg.MaxClockSkew < 0:
		return &lease.ConfigError{Field: "MaxClockSkew", Reason: fmt.Sprintf("%v is negative", cfg.MaxClockSkew)}
	}
	return nil
}

// storable reports whether all stores can store s without changing it.
func storable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsRune(s, 0) && !strings.HasSuffix(s, " ")
}

func (cfg Config) terms() lease.Terms {
	return lease.Terms{
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
