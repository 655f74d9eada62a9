// Package tokentest has the tests that every [token.Store] must pass.
package tokentest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/token"
)

// Keys are keys for tests.
const Keys = "1:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

// Run tests that a store fulfills the contract of [token.Store]. open is called once for
// each property, and must return an empty store. If the store counts idle time by a clock
// of its own, wait must wait for that clock; otherwise it is nil.
func Run(t *testing.T, open func(t *testing.T) token.Store, wait func(time.Duration)) {
	for _, p := range []struct {
		name  string
		check func(*bench)
	}{
		{"a session belongs to its user", ofUser},
		{"tokens that were not added, or again, or changed", refused},
		{"all sessions of a user end together", revokedUser},
		{"a token begins one session", once},
		{"a user sees and ends only his own sessions", ofOthers},
		{"a session that is idle ends", idle},
		{"a session without a limit may be idle", noLimit},
		{"32 sessions are added and revoked at the same time", concurrent},
	} {
		t.Run(p.name, func(t *testing.T) { p.check(newBench(t, open(t), wait)) })
	}
}

// A bench has a store, and a signer whose clock only moves when sleep is called.
type bench struct {
	*testing.T
	token.Store
	signer, unlimited *token.Signer // unlimited sessions may be idle
	wait              func(time.Duration)

	mu  sync.Mutex
	now time.Time
}

// idleLimit is the shortest that a signer allows, since some stores make us wait for it.
const idleLimit = time.Second

// workers counts the pools, since stores may be tested at the same time.
var workers atomic.Int64

func newBench(t *testing.T, store token.Store, wait func(time.Duration)) *bench {
	t.Helper()
	b := &bench{T: t, Store: store, wait: wait, now: time.Now().Truncate(time.Millisecond)}
	keys := errtest.Must(token.ParseKeys(Keys))(t)
	ids := errtest.Must(idgen.NewPool(idgen.Config{Worker: worker.Static(500 + workers.Add(1))}))(t)
	t.Cleanup(func() { ids.Close(context.Background()) })
	b.signer = errtest.Must(token.New(token.Config{Keys: keys, IDs: ids, Idle: idleLimit, Clock: b.clock}))(t)
	b.unlimited = errtest.Must(token.New(token.Config{Keys: keys, IDs: ids, Idle: -1, Clock: b.clock}))(t)
	return b
}

func (b *bench) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *bench) sleep(d time.Duration) {
	if b.wait != nil {
		b.wait(d)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

func (b *bench) issue() token.Token {
	b.Helper()
	t, err := b.signer.Issue(b.Context()) // perhaps not in the test's goroutine
	if err != nil {
		b.Error(err)
	}
	return t
}

// login issues a token and adds it for a user.
func (b *bench) login(user int64) token.Token {
	b.Helper()
	t := b.issue()
	if err := b.Add(b.Context(), t, user); err != nil {
		b.Error(err)
	}
	return t
}

// request returns what the next request with a token gets.
func (b *bench) request(signer *token.Signer, t token.Token) (int64, error) {
	verified, err := signer.Verify(t.Text())
	if err != nil {
		return 0, err
	}
	return b.User(b.Context(), verified)
}

// expect fails the test unless the next request with a token has this result.
func (b *bench) expect(t token.Token, user int64, want error) {
	b.Helper()
	if got, err := b.request(b.signer, t); !errors.Is(err, want) || got != user {
		b.Errorf("the session %d is of user %d, %v; want user %d, %v", t.ID, got, err, user, want)
	}
}

// ada and bob are above 2^53 and differ by one, so that a float would be noticed.
const (
	ada int64 = 1<<53 + 1 + iota
	bob
)

func ofUser(b *bench) {
	users, tokens := []int64{ada, bob, ada, 0, -1}, []token.Token{}
	for _, user := range users {
		tokens = append(tokens, b.login(user))
	}
	for i, user := range users {
		b.expect(tokens[i], user, nil)
	}
}

func refused(b *bench) {
	first, second := b.login(ada), b.login(bob)
	b.expect(b.issue(), 0, token.ErrEnded)
	for what, t := range map[string]token.Token{"a second time": first, "without a token": {}} {
		if err := b.Add(b.Context(), t, bob); !errors.Is(err, token.ErrInvalid) {
			b.Errorf("a session was added %s: %v", what, err)
		}
	}
	forged := first
	forged.ID = second.ID
	for _, t := range []token.Token{forged, {}} {
		if user, err := b.User(b.Context(), t); !errors.Is(err, token.ErrInvalid) || user != 0 {
			b.Errorf("%v is of user %d, %v", t, user, err)
		}
	}
	late := b.issue()
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	if err := b.Add(ctx, late, ada); err == nil {
		b.Error("a call succeeds although its context has ended")
	}
	b.expect(late, 0, token.ErrEnded)
	b.expect(first, ada, nil)
	b.expect(second, bob, nil)
}

func revokedUser(b *bench) {
	ended, other := []token.Token{b.login(ada), b.login(ada), b.login(ada)}, b.login(bob)
	for range 2 {
		errtest.NoError(b, b.RevokeUser(b.Context(), ada))
	}
	after := b.login(ada)
	for _, t := range ended {
		b.expect(t, 0, token.ErrEnded)
	}
	b.expect(other, bob, nil)
	b.expect(after, ada, nil)
}

func idle(b *bench) {
	t := b.login(ada)
	for range 4 { // while it is in use, it does not end
		b.sleep(idleLimit * 2 / 5)
		b.expect(t, ada, nil)
	}
	b.sleep(idleLimit)
	if b.wait != nil {
		b.sleep(50 * time.Millisecond) // other clocks are not that exact
	}
	b.expect(t, 0, token.ErrEnded)
	// Another process may have a clock that is behind.
	b.mu.Lock()
	b.now = b.now.Add(-idleLimit)
	b.mu.Unlock()
	b.expect(t, 0, token.ErrEnded)
}

func noLimit(b *bench) {
	t, err := b.unlimited.Issue(b.Context())
	if err == nil {
		err = b.Add(b.Context(), t, ada)
	}
	errtest.NoError(b, err)
	b.sleep(idleLimit + 50*time.Millisecond)
	if user, err := b.request(b.unlimited, t); user != ada || err != nil {
		b.Errorf("the session is of user %d, %v", user, err)
	}
}

func concurrent(b *bench) {
	var wg sync.WaitGroup
	tokens := make([]token.Token, 32)
	for i := range tokens {
		wg.Go(func() { tokens[i] = b.login(ada) })
	}
	wg.Wait()
	// Each second session is revoked while all are in use.
	for i, t := range tokens {
		inUse, revoked := make(chan struct{}), make(chan struct{})
		wg.Go(func() {
			<-inUse
			if i%2 == 1 {
				if err := b.Revoke(b.Context(), ada, t.ID); err != nil {
					b.Error(err)
				}
			}
			close(revoked)
		})
		wg.Go(func() {
			close(inUse)
			for last := false; !last; {
				select {
				case <-revoked:
					last = true
				default:
				}
				if _, err := b.request(b.signer, t); err != nil && !errors.Is(err, token.ErrEnded) {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for i, t := range tokens {
		if i%2 == 1 {
			b.expect(t, 0, token.ErrEnded)
		} else {
			b.expect(t, ada, nil)
		}
	}
}
