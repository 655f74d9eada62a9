package tokentest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/token"
)

// Keys are keys for tests.
const Keys = "1:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

// Run tests that a store fulfills the contract of [token.Store]. open is called once for
// each property, and must return an empty store. If the store counts idle time by a clock
// of its own, wait must wait for that clock; otherwise it is nil.
func Run(t *testing.T, open func(t *testing.T) token.Store, wait func(time.Duration)) {
	for _, p := range properties {
		t.Run(p.name, func(t *testing.T) {
			if err := p.check(newBench(t, open(t), wait)); err != nil {
				t.Error(err)
			}
		})
	}
}

// A property is something that every store must have. check returns an error if the store
// doesn't.
type property struct {
	name  string
	check func(*bench) error
}

var properties = []property{
	{"a session belongs to its user", ofUser},
	{"a session that was not added has ended", unknown},
	{"a token is added once", once},
	{"a token that has only the id of a session is invalid", hash},
	{"the zero token is invalid", zero},
	{"a session ends when it is revoked", revoked},
	{"all sessions of a user end together", revokedUser},
	{"a session that is idle ends", idle},
	{"a session that is in use does not end", inUse},
	{"a session without a limit may be idle", noLimit},
	{"32 sessions are added and revoked at the same time", concurrent},
	{"a call whose context has ended adds nothing", cancelled},
}

// A bench has a store, and a signer whose clock only moves when sleep is called.
type bench struct {
	token.Store
	ctx    context.Context
	signer *token.Signer
	keys   token.Keys
	ids    *idgen.Pool
	wait   func(time.Duration)

	mu  sync.Mutex
	now time.Time
}

// idleLimit is the shortest that a signer allows, since some stores make us wait for it.
const idleLimit = time.Second

// workers counts the pools, since stores may be tested at the same time.
var workers atomic.Int64

func newBench(t *testing.T, store token.Store, wait func(time.Duration)) *bench {
	t.Helper()
	b := &bench{Store: store, ctx: t.Context(), wait: wait, now: time.Now().Truncate(time.Millisecond)}
	var err error
	if b.keys, err = token.ParseKeys(Keys); err != nil {
		t.Fatal(err)
	}
	b.ids, err = idgen.NewPool(idgen.Config{Worker: worker.Static(500 + workers.Add(1))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.ids.Close(context.Background()) })
	if b.signer, err = b.signerWith(idleLimit); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) signerWith(idle time.Duration) (*token.Signer, error) {
	return token.New(token.Config{Keys: b.keys, IDs: b.ids, Idle: idle, Clock: b.clock})
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

// login issues a token and adds it for a user.
func (b *bench) login(user int64) (token.Token, error) {
	t, err := b.signer.Issue(b.ctx)
	if err == nil {
		err = b.Add(b.ctx, t, user)
	}
	return t, err
}

// logins logs in each of the users.
func (b *bench) logins(users ...int64) (tokens []token.Token, err error) {
	for _, user := range users {
		t, err := b.login(user)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
	}
	return tokens, nil
}

// expect returns an error unless the next request with a token has this result.
func (b *bench) expect(t token.Token, user int64, want error) error {
	return b.expectOf(b.signer, t, user, want)
}

func (b *bench) expectOf(signer *token.Signer, t token.Token, user int64, want error) error {
	verified, err := signer.Verify(t.Text())
	if err != nil {
		return err
	}
	got, err := b.User(b.ctx, verified)
	if !errors.Is(err, want) || (want == nil && got != user) || (want != nil && got != 0) {
		return fmt.Errorf("the session %d is of user %d, %v; want user %d, %v", t.ID, got, err, user, want)
	}
	return nil
}

// ada and bob are above 2^53 and differ by one, so that a float would be noticed.
const (
	ada int64 = 1<<53 + 1 + iota
	bob
)

func ofUser(b *bench) error {
	tokens, err := b.logins(ada, bob, ada, 0, -1)
	if err != nil {
		return err
	}
	for i, user := range []int64{ada, bob, ada, 0, -1} {
		if err := b.expect(tokens[i], user, nil); err != nil {
			return err
		}
	}
	return nil
}

func unknown(b *bench) error {
	if _, err := b.login(ada); err != nil {
		return err
	}
	t, err := b.signer.Issue(b.ctx)
	if err != nil {
		return err
	}
	return b.expect(t, 0, token.ErrEnded)
}

func once(b *bench) error {
	t, err := b.login(ada)
	if err != nil {
		return err
	}
	if err := b.Add(b.ctx, t, bob); !errors.Is(err, token.ErrInvalid) {
		return fmt.Errorf("a token is added for a second user: %v", err)
	}
	return b.expect(t, ada, nil)
}

func hash(b *bench) error {
	tokens, err := b.logins(ada, bob)
	if err != nil {
		return err
	}
	forged := tokens[0]
	forged.ID = tokens[1].ID
	if user, err := b.User(b.ctx, forged); !errors.Is(err, token.ErrInvalid) || user != 0 {
		return fmt.Errorf("a token with the id of another is of user %d, %v", user, err)
	}
	return b.expect(tokens[1], bob, nil)
}

func zero(b *bench) error {
	if err := b.Add(b.ctx, token.Token{}, ada); !errors.Is(err, token.ErrInvalid) {
		return fmt.Errorf("the zero token is added: %v", err)
	}
	if user, err := b.User(b.ctx, token.Token{}); !errors.Is(err, token.ErrInvalid) || user != 0 {
		return fmt.Errorf("the zero token is of user %d, %v", user, err)
	}
	return nil
}

func revoked(b *bench) error {
	tokens, err := b.logins(ada, ada)
	if err != nil {
		return err
	}
	// The second call finds nothing.
	for range 2 {
		if err := b.Revoke(b.ctx, tokens[0].ID); err != nil {
			return err
		}
	}
	return errors.Join(b.expect(tokens[0], 0, token.ErrEnded), b.expect(tokens[1], ada, nil))
}

func revokedUser(b *bench) error {
	tokens, err := b.logins(ada, bob, ada, ada)
	if err != nil {
		return err
	}
	for range 2 {
		if err := b.RevokeUser(b.ctx, ada); err != nil {
			return err
		}
	}
	after, err := b.login(ada)
	if err != nil {
		return err
	}
	return errors.Join(b.expect(tokens[0], 0, token.ErrEnded), b.expect(tokens[1], bob, nil),
		b.expect(tokens[2], 0, token.ErrEnded), b.expect(tokens[3], 0, token.ErrEnded), b.expect(after, ada, nil))
}

func idle(b *bench) error {
	t, err := b.login(ada)
	if err != nil {
		return err
	}
	if err := b.expect(t, ada, nil); err != nil {
		return err
	}
	b.sleep(idleLimit)
	if b.wait != nil {
		b.sleep(50 * time.Millisecond) // other clocks are not that exact
	}
	if err := b.expect(t, 0, token.ErrEnded); err != nil {
		return err
	}
	// Another process may have a clock that is behind.
	b.mu.Lock()
	b.now = b.now.Add(-idleLimit)
	b.mu.Unlock()
	return b.expect(t, 0, token.ErrEnded)
}

func inUse(b *bench) error {
	t, err := b.login(ada)
	for range 4 {
		if err != nil {
			return err
		}
		b.sleep(idleLimit * 2 / 5)
		err = b.expect(t, ada, nil)
	}
	return err
}

func noLimit(b *bench) error {
	signer, err := b.signerWith(-1)
	if err != nil {
		return err
	}
	t, err := signer.Issue(b.ctx)
	if err == nil {
		err = b.Add(b.ctx, t, ada)
	}
	if err != nil {
		return err
	}
	b.sleep(2 * idleLimit)
	return b.expectOf(signer, t, ada, nil)
}

func concurrent(b *bench) error {
	const sessions = 32
	var wg sync.WaitGroup
	errs, used := make([]error, sessions), make([]error, sessions)
	tokens := make([]token.Token, sessions)
	for i := range sessions {
		wg.Go(func() { tokens[i], errs[i] = b.login(ada) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	// Each second session is revoked while all are in use.
	for i := range sessions {
		inUse, revoked := make(chan struct{}), make(chan struct{})
		wg.Go(func() {
			<-inUse
			if i%2 == 1 {
				errs[i] = b.Revoke(b.ctx, tokens[i].ID)
			}
			close(revoked)
		})
		wg.Go(func() {
			close(inUse)
			for last := false; !last && used[i] == nil; {
				select {
				case <-revoked:
					last = true
				default:
				}
				verified, err := b.signer.Verify(tokens[i].Text())
				if err == nil {
					_, err = b.User(b.ctx, verified)
				}
				if !errors.Is(err, token.ErrEnded) {
					used[i] = err
				}
			}
		})
	}
	wg.Wait()
	errs = append(errs, used...)
	for i, t := range tokens {
		user, want := ada, error(nil)
		if i%2 == 1 {
			user, want = 0, token.ErrEnded
		}
		errs = append(errs, b.expect(t, user, want))
	}
	return errors.Join(errs...)
}

func cancelled(b *bench) error {
	t, err := b.signer.Issue(b.ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	if err := b.Add(ctx, t, ada); err == nil {
		return errors.New("a call succeeds although its context has ended")
	}
	return b.expect(t, 0, token.ErrEnded)
}
