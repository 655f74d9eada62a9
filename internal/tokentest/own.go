package tokentest

import (
	"errors"
	"slices"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/token"
)

// once adds tokens whose session has ended, and tokens that were only verified, which an
// attacker may have kept.
func once(b *bench) {
	revoked, together, running := b.login(ada), b.login(bob), b.login(ada)
	errtest.NoError(b, b.Revoke(b.Context(), ada, revoked.ID))
	errtest.NoError(b, b.RevokeUser(b.Context(), bob))
	for _, t := range []token.Token{revoked, together, running} {
		verified := errtest.Must(b.signer.Verify(t.Text()))(b)
		for _, again := range []token.Token{t, verified} {
			if err := b.Add(b.Context(), again, ada); !errors.Is(err, token.ErrInvalid) {
				b.Errorf("a token begins a second session: %v", err)
			}
		}
	}
	b.expect(revoked, 0, token.ErrEnded)
	b.expect(together, 0, token.ErrEnded)
	b.expect(running, ada, nil)
}

// ofOthers ends sessions with the ids of other users' sessions, as somebody does who
// changes the form of a page that lists sessions.
func ofOthers(b *bench) {
	first, other, second := b.login(ada), b.login(bob), b.login(ada)
	b.sessions(ada, second.ID, first.ID)
	for _, id := range []int64{first.ID, second.ID, 0, -1} {
		errtest.NoError(b, b.Revoke(b.Context(), bob, id))
	}
	b.expect(first, ada, nil)
	b.expect(second, ada, nil)
	b.sessions(bob, other.ID)
	for range 2 { // the second call finds nothing
		errtest.NoError(b, b.Revoke(b.Context(), ada, first.ID))
	}
	b.expect(first, 0, token.ErrEnded)
	b.expect(second, ada, nil)
	b.sessions(ada, second.ID)
	errtest.NoError(b, b.RevokeUser(b.Context(), ada))
	b.sessions(ada)
	b.sessions(bob, other.ID)
}

// sessions fails the test unless the user has these sessions.
func (b *bench) sessions(user int64, want ...int64) {
	b.Helper()
	if ids, err := b.Sessions(b.Context(), user); err != nil || !slices.Equal(ids, want) {
		b.Errorf("user %d has the sessions %d, %v; want %d", user, ids, err, want)
	}
}
