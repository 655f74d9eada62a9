package snowkey

import (
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/keeper"
	"github.com/snowkey-go/snowkey/internal/leased"
	"github.com/snowkey-go/snowkey/lease"
)

// split returns what cfg says about the pool and about its lease.
func (cfg Config) split() (idgen.Config, keeper.Config, error) {
	layout := cfg.Layout
	if layout.IsZero() {
		layout = idgen.DefaultLayout()
	}
	workers, perTick := int64(1), int64(1)
	for _, f := range layout.Fields() {
		switch {
		case f.Fixed:
		case f.Name == "worker":
			workers = 1 << f.Bits
		case f.Name == "sequence":
			perTick = 1 << f.Bits
		}
	}
	cfg.Layout = layout
	cfg = cfg.withDefaults(workers)
	pool := idgen.Config{
		Layout: layout, MaxAhead: cfg.MaxAhead, MaxWait: cfg.MaxWait, MaxBehind: cfg.MaxBehind,
		NoSpread: cfg.NoSpread, MaxNames: cfg.MaxNames, Clock: cfg.Clock, Logger: cfg.Logger,
	}
	return pool, keeper.Config{
		Terms: lease.Terms{
			Namespace: cfg.Namespace, Layout: layout.String(), Epoch: layout.Epoch().UnixMicro(), Unit: layout.Unit().Microseconds(),
			PerTick: perTick, Workers: workers, Ahead: (cfg.Window + cfg.MaxClockSkew).Microseconds(),
			Skew: cfg.MaxClockSkew.Microseconds(), TTL: cfg.TTL.Microseconds(),
		},
		MinWorker: cfg.MinWorker, MaxWorker: cfg.MaxWorker, Label: cfg.Label, PreferSame: cfg.PreferSame,
		MaxBlocked: cfg.MaxBlocked, SkipMigrate: cfg.SkipMigrate, OnLost: cfg.OnLost, Logger: cfg.Logger, Clock: cfg.Clock,
		Compatible: func(stored string, from time.Time) error {
			other, err := idgen.ParseLayout(stored)
			if err != nil {
				return err
			}
			return layout.Compatible(other, from)
		},
	}, cfg.validate(workers)
}

// withDefaults replaces zero values by defaults.
func (cfg Config) withDefaults(workers int64) Config {
	cfg.Namespace = cmp.Or(cfg.Namespace, "default")
	cfg.MaxWorker = cmp.Or(cfg.MaxWorker, workers-1)
	if cfg.Label == "" {
		cfg.Label = defaultLabel()
	}
	cfg.Window = cmp.Or(cfg.Window, 10*time.Second)
	cfg.TTL = cmp.Or(cfg.TTL, cfg.Window+cfg.Window/2)
	cfg.MaxClockSkew = cmp.Or(cfg.MaxClockSkew, time.Second)
	cfg.MaxBlocked = cmp.Or(cfg.MaxBlocked, 2*cfg.Window)
	cfg.MaxAhead = cmp.Or(cfg.MaxAhead, max(cfg.Window/10, cfg.Layout.Unit()))
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	return cfg
}

// validate checks a Config that has no zero values.
func (cfg Config) validate(workers int64) error {
	const most = 64
	unit := cfg.Layout.Unit()
	switch {
	case len(cfg.Namespace) > most || !leased.Storable(cfg.Namespace):
		return fmt.Errorf("snowkey: Config.Namespace %.80q cannot be stored; use %d bytes at most, of UTF-8 without zeros and without a space at the end", cfg.Namespace, most)
	case len(cfg.Label) > 255 || !leased.Storable(cfg.Label):
		return fmt.Errorf("snowkey: Config.Label %.80q cannot be stored; use 255 bytes at most, of UTF-8 without zeros and without a space at the end", cfg.Label)
	case len(cfg.Layout.String()) > 255:
		return fmt.Errorf("snowkey: Config.Layout %.80q cannot be stored; use 255 bytes at most, with shorter names of fields", cfg.Layout)
	case unit < time.Microsecond || unit%time.Microsecond != 0:
		return fmt.Errorf("snowkey: Config.Layout has the unit %v, which is not a whole number of microseconds; use a layout with another unit", unit)
	case cfg.MinWorker < 0 || cfg.MaxWorker < cfg.MinWorker || cfg.MaxWorker >= workers:
		return fmt.Errorf("snowkey: Config.MinWorker %d and MaxWorker %d are not a range within 0 to %d", cfg.MinWorker, cfg.MaxWorker, workers-1)
	case cfg.Window < time.Second:
		return fmt.Errorf("snowkey: Config.Window %v is less than a second; a slow renewal would already stop ids", cfg.Window)
	case cfg.TTL < cfg.Window:
		return fmt.Errorf("snowkey: Config.TTL %v is less than Window %v; the worker number would be free while ids are still issued", cfg.TTL, cfg.Window)
	case cfg.MaxBlocked < 0:
		return fmt.Errorf("snowkey: Config.MaxBlocked %v is negative", cfg.MaxBlocked)
	case cfg.MaxClockSkew < 0:
		return fmt.Errorf("snowkey: Config.MaxClockSkew %v is negative", cfg.MaxClockSkew)
	}
	return nil
}

// defaultLabel returns a label that helps people recognize this process and that stays
// the same after a restart. It consists of the host's name, $PORT if it is set, and the
// address of the first network card.
func defaultLabel() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	if port := os.Getenv("PORT"); port != "" {
		host += ":" + port
	}
	interfaces, _ := net.Interfaces() // if there is an error, we just leave out the address
	for _, i := range interfaces {
		if len(i.HardwareAddr) > 0 {
			host += " " + i.HardwareAddr.String()
			break
		}
	}
	if len(host) > 255 || !leased.Storable(host) {
		return "unknown host"
	}
	return host
}
