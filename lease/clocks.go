package lease

import (
	"time"

	"github.com/snowkey-go/snowkey/internal/leased"
)

// clocks compares the host's clock with the store's. Of one keeper, it is used
// by one goroutine at a time.
type clocks struct {
	cfg    Config
	issuer leased.Issuer

	offset time.Duration // what the issuer was told to correct
	at     time.Time     // when both agreed last, by the monotonic clock
	store  time.Time     // what they agreed on; zero before the first time
}

// A reading is the host's time before a request is sent.
type reading struct {
	at   time.Time // with the monotonic clock's
	wall time.Time // by the clock that the issuer has too
}

func (c *clocks) read() reading { return reading{at: time.Now(), wall: c.cfg.Clock()} }

// now is the host's time, as far as it is known to be right.
func (c *clocks) now() time.Time { return c.cfg.Clock().Add(c.offset) }

// check refuses to begin with clocks that are apart. Afterwards it compares them.
func (c *clocks) check(sent reading, now int64) error {
	if c.store.IsZero() {
		if at, host := time.UnixMicro(now), c.cfg.Clock(); !c.near(at, sent.wall, host) {
			return &ClockSkewError{Host: host, Store: at, Max: c.cfg.MaxClockSkew}
		}
	}
	c.compare(sent, now)
	return nil
}

// compare takes in the store's time, which was read after sent. When the clocks
// are apart, the third decides which of them is wrong: the monotonic clock, since
// they agreed. If it is the host's, the issuer is told. If it is the store's, or
// if this machine slept, the host's clock is as good as any.
func (c *clocks) compare(sent reading, now int64) {
	host, at := c.cfg.Clock(), time.UnixMicro(now)
	elapsed := c.store.Add(time.Since(c.at))
	switch {
	case c.near(at, sent.wall, host):
		c.correct(0)
	case c.near(at, sent.wall.Add(c.offset), host.Add(c.offset)):
	case c.near(at, elapsed, elapsed):
		c.correct(at.Sub(host))
	default:
		return
	}
	c.at, c.store = time.Now(), at
}

// near reports whether at is not far from the time between before and after.
func (c *clocks) near(at, before, after time.Time) bool {
	return !at.Before(before.Add(-c.cfg.MaxClockSkew)) && !at.After(after.Add(c.cfg.MaxClockSkew))
}

func (c *clocks) correct(offset time.Duration) {
	if offset == c.offset {
		return
	}
	if c.offset = offset; offset == 0 {
		c.cfg.log().Info("lease: this host's clock is right again")
	} else {
		c.cfg.log().Warn("lease: this host's clock is wrong; numbers follow the store's", "by", -offset)
	}
	c.issuer.Correct(offset)
}
