package token

import (
	"cmp"
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// Config configures a [Signer]. Keys is the only required field.
type Config struct {
	// Keys sign and verify tokens. Use the same keys in all processes, but different ones
	// for each application. There's no default.
	Keys Keys

	// Purpose says what the tokens are for. Tokens issued for a different purpose are
	// rejected, so that even with shared keys, a password reset token can't be used as a
	// session. Up to 255 bytes. Defaults to "session".
	Purpose string

	// TTL is how long a token is valid, i.e. the session's absolute timeout. It isn't
	// extended by activity. Must be at least 1 s. Defaults to 12 h.
	TTL time.Duration

	// Idle is how long a session can go unused before a [Store] ends it. The minimum is 1 s,
	// and the maximum is TTL; use a negative value for no limit. Defaults to 30 min, or to
	// TTL if that's shorter.
	Idle time.Duration

	// IDs generates the token ids. It isn't needed for [Signer.Verify]. Defaults to
	// idgen.Default(), looked up on each call.
	IDs *idgen.Pool

	// Clock replaces the system clock in tests. Must be safe for concurrent use. Defaults to
	// time.Now.
	Clock func() time.Time
}

const maxPurpose = 255

func (cfg Config) withDefaults() Config {
	cfg.Purpose = cmp.Or(cfg.Purpose, "session")
	cfg.TTL = cmp.Or(cfg.TTL, 12*time.Hour)
	cfg.Idle = cmp.Or(cfg.Idle, min(30*time.Minute, cfg.TTL))
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	return cfg
}

func (cfg Config) validate() error {
	switch {
	case len(cfg.Keys.list) == 0:
		return configError("Keys", "has no key; use ParseKeys with at least one")
	case len(cfg.Purpose) > maxPurpose:
		return configError("Purpose", fmt.Sprintf("has %d bytes; use at most %d", len(cfg.Purpose), maxPurpose))
	case cfg.TTL < time.Second:
		return configError("TTL", fmt.Sprintf("is %v; use 1s or more, or 0 for the default", cfg.TTL))
	case cfg.Idle > cfg.TTL:
		return configError("Idle", fmt.Sprintf("is %v, but tokens expire after TTL %v; use at most that, or a negative number for no limit", cfg.Idle, cfg.TTL))
	case cfg.Idle >= 0 && cfg.Idle < time.Second:
		return configError("Idle", fmt.Sprintf("is %v; use 1s or more, 0 for the default, or a negative number for no limit", cfg.Idle))
	}
	return nil
}

// configError says what is wrong with a field of [Config], and what to do, without any
// secret.
func configError(field, reason string) error {
	return errors.New("token: Config." + field + " " + reason)
}

// A Signer issues and verifies tokens for one purpose. Create one using [New]; the zero
// value isn't valid. A Signer is safe for concurrent use.
type Signer struct {
	cfg Config
}

// New returns a signer.
func New(cfg Config) (*Signer, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.Idle = max(cfg.Idle, 0)
	return &Signer{cfg}, nil
}

// Issue returns a new token signed with the first key. To start a session, the token should
// be added to a [Store] before sending it to the user. Whenever a user's privileges change,
// for instance at login, a new token should be issued and the old one revoked.
//
// Errors come from [idgen.Generator.Next], e.g. [idgen.ErrNoPool].
func (s *Signer) Issue(ctx context.Context) (Token, error) {
	id, err := cmp.Or(s.cfg.IDs, idgen.Default()).Next(ctx)
	if err != nil {
		return Token{}, fmt.Errorf("token: %w", err)
	}
	now := s.cfg.Clock()
	expires := now.Add(s.cfg.TTL).UnixMilli()
	if expires < 0 || expires > maxExpires {
		return Token{}, fmt.Errorf("token: the clock shows %v; a token expires between 1970 and 10889", now)
	}
	text := seal(s.cfg.Keys.list[0], s.cfg.Purpose, id, expires)
	t := s.token(id, expires, now, text)
	t.unclaimed = new(atomic.Bool)
	t.unclaimed.Store(true)
	return t, nil
}

// Verify returns the token for a text, which can come from anywhere. It doesn't use a
// database, and therefore won't notice if the session has been revoked; see [Store.User].
//
// The error is [ErrInvalid], or [ErrExpired] for a genuine token that has expired. It's
// never wrapped, and never contains the text.
func (s *Signer) Verify(text string) (Token, error) {
	b, ok := decode(text)
	if !ok {
		return Token{}, ErrInvalid
	}
	// The id of the key is no secret, so the time that it takes to find it may show.
	key := s.cfg.Keys.find(b[keyAt])
	if key == nil {
		return Token{}, ErrInvalid
	}
	var mac [size - macAt]byte
	if !hmac.Equal(key.sign(mac[:0], b[:macAt], s.cfg.Purpose), b[macAt:]) {
		return Token{}, ErrInvalid
	}
	now, expires := s.cfg.Clock(), expiresOf(&b)
	if now.UnixMilli() >= expires {
		return Token{}, ErrExpired
	}
	return s.token(idOf(&b), expires, now, text), nil
}

func (s *Signer) token(id, expires int64, now time.Time, text string) Token {
	return Token{ID: id, Expires: time.UnixMilli(expires).UTC(), Seen: now, Idle: s.cfg.Idle, text: &text}
}
