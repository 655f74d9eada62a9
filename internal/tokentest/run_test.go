package tokentest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/token"
)

// A memory is a store in memory. Its fields are defects that the suite must catch.
type memory struct {
	mu       sync.Mutex
	sessions map[int64]session

	roundUsers    bool // keeps users as float64
	permissive    bool // accepts sessions that were not added
	replaces      bool // lets a second Add replace the first
	trustsID      bool // does not compare the hash
	trustsZero    bool // accepts the zero token
	forgets       bool // Revoke does nothing
	revokesOne    bool // RevokeUser ends one session
	revokesAll    bool // RevokeUser ends the sessions of all users
	neverIdle     bool // does not end idle sessions
	keepsIdle     bool // refuses an idle session, but does not end it
	neverSeen     bool // does not record that a session was used
	alwaysLimited bool // ends sessions without a limit
	revives       bool // User writes the session back
	deaf          bool // ignores ctx
}

type session struct {
	user int64
	hash string
	seen time.Time
}

func (m *memory) Add(ctx context.Context, t token.Token, user int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, there := m.sessions[t.ID]; there && !m.replaces || t.Text() == "" && !m.trustsZero {
		return token.ErrInvalid
	}
	if err := ctx.Err(); err != nil && !m.deaf {
		return err
	}
	if m.roundUsers {
		user = int64(float64(user))
	}
	if m.sessions == nil {
		m.sessions = make(map[int64]session)
	}
	m.sessions[t.ID] = session{user, t.Hash(), t.Seen}
	return nil
}

func (m *memory) User(_ context.Context, t token.Token) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, there := m.sessions[t.ID]
	limited := (t.Idle > 0 || m.alwaysLimited) && !m.neverIdle
	switch {
	case t.Text() == "" && !m.trustsZero:
		return 0, token.ErrInvalid
	case !there && m.permissive:
		return ada, nil
	case !there:
		return 0, token.ErrEnded
	case s.hash != t.Hash() && !m.trustsID:
		return 0, token.ErrInvalid
	case limited && t.Seen.Sub(s.seen) >= t.Idle:
		if !m.keepsIdle {
			delete(m.sessions, t.ID)
		}
		return 0, token.ErrEnded
	}
	if !m.neverSeen {
		s.seen = t.Seen
	}
	if m.revives {
		m.mu.Unlock()
		time.Sleep(time.Millisecond)
		m.mu.Lock()
	}
	if _, there := m.sessions[t.ID]; there || m.revives {
		m.sessions[t.ID] = s
	}
	return s.user, nil
}

func (m *memory) Revoke(_ context.Context, id int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.forgets {
		delete(m.sessions, id)
	}
	return nil
}

func (m *memory) RevokeUser(_ context.Context, user int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, s := range m.sessions {
		if s.user == user || m.revokesAll {
			delete(m.sessions, id)
			if m.revokesOne {
				break
			}
		}
	}
	return nil
}

func TestMemory(t *testing.T) {
	Run(t, func(*testing.T) token.Store { return new(memory) }, nil)
}

// TestTheSuiteCatchesBrokenStores checks that each broken store fails the test of the
// property that it violates.
func TestTheSuiteCatchesBrokenStores(t *testing.T) {
	for _, tt := range []struct {
		store    *memory
		property string
	}{
		{&memory{roundUsers: true}, "a session belongs to its user"},
		{&memory{permissive: true}, "a session that was not added has ended"},
		{&memory{replaces: true}, "a token is added once"},
		{&memory{trustsID: true}, "a token that has only the id of a session is invalid"},
		{&memory{trustsZero: true}, "the zero token is invalid"},
		{&memory{forgets: true}, "a session ends when it is revoked"},
		{&memory{revokesOne: true}, "all sessions of a user end together"},
		{&memory{revokesAll: true}, "all sessions of a user end together"},
		{&memory{neverIdle: true}, "a session that is idle ends"},
		{&memory{keepsIdle: true}, "a session that is idle ends"},
		{&memory{neverSeen: true}, "a session that is in use does not end"},
		{&memory{alwaysLimited: true}, "a session without a limit may be idle"},
		{&memory{revives: true}, "32 sessions are added and revoked at the same time"},
		{&memory{deaf: true}, "a call whose context has ended adds nothing"},
	} {
		found := false
		for _, p := range properties {
			if p.name != tt.property {
				continue
			}
			found = true
			t.Run(p.name, func(t *testing.T) {
				if err := p.check(newBench(t, tt.store, nil)); err == nil {
					t.Errorf("the suite accepts the store %+v", tt.store)
				}
			})
		}
		if !found {
			t.Errorf("there is no property %q", tt.property)
		}
	}
}
