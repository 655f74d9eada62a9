package keeper

import (
	"time"

	"github.com/snowkey-go/snowkey/internal/leased"
	"github.com/snowkey-go/snowkey/lease"
)

// clocks compares the host's clock with the store's clock. It must not be used
// concurrently.
type clocks struct {
	cfg    Config
	issuer leased.Issuer

	offset time.Duration // the correction that we gave the issuer
	at     time.Time     // when both clocks last agreed, by the monotonic clock
	store  time.Time     // the store's time at that point; zero before the first comparison
}

// A reading is the host's time just before a request is sent.
type reading struct {
	at   time.Time // by the monotonic clock
	wall time.Time // by Config.Clock, which the issuer uses too
}

func (c *clocks) read() reading { return reading{at: time.Now(), wall: c.cfg.Clock()} }

// now returns the host's time with the correction.
func (c *clocks) now() time.Time { return c.cfg.Clock().Add(c.offset) }

// check compares the clocks before a claim. It returns an error if they differ too much in
// the first comparison. On a volatile store it does so in each, because a claim there
// raises the bound by the store's clock alone, so a wrong clock would push it far ahead.
func (c *clocks) check(sent reading, now int64, volatile bool) error {
	at, host := time.UnixMicro(now), c.cfg.Clock()
	if first := c.store.IsZero(); first && !c.near(at, sent.wall, host) || !c.compare(sent, now) && volatile {
		return &lease.ClockSkewError{Host: host, Store: at, Max: c.cfg.skew()}
	}
	return nil
}

// compare compares the host's clock with now, the store's time, which was read after
// the request was sent. If the two differ by more than MaxClockSkew, we need to find
// out which of them is wrong. The monotonic clock can tell us, since it shows how much
// time has passed since they last agreed. If the host's clock is wrong, compare gives
// the issuer a correction. If the store's clock is wrong, or this machine was asleep,
// nothing changes, and compare reports false.
func (c *clocks) compare(sent reading, now int64) bool {
	host, at := c.cfg.Clock(), time.UnixMicro(now)
	elapsed := c.store.Add(time.Since(c.at))
	switch {
	case c.near(at, sent.wall, host):
		c.correct(0)
	case c.near(at, sent.wall.Add(c.offset), host.Add(c.offset)):
	case c.near(at, elapsed, elapsed):
		c.correct(at.Sub(host))
	default:
		return false
	}
	c.at, c.store = time.Now(), at
	return true
}

// near reports whether at is between before and after, give or take MaxClockSkew.
func (c *clocks) near(at, before, after time.Time) bool {
	return !at.Before(before.Add(-c.cfg.skew())) && !at.After(after.Add(c.cfg.skew()))
}

func (c *clocks) correct(offset time.Duration) {
	if offset == c.offset {
		return
	}
	if c.offset = offset; offset == 0 {
		c.cfg.Logger.Info("lease: this host's clock agrees with the store's clock again", "namespace", c.cfg.Namespace)
	} else {
		c.cfg.Logger.Warn("lease: this host's clock is wrong; ids follow the store's clock", "namespace", c.cfg.Namespace, "offset", -offset)
	}
	c.issuer.Correct(offset)
}
